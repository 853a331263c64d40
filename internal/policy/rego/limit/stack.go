// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"runtime/metrics"

	"github.com/open-policy-agent/opa/v1/topdown"
)

const (
	// maxStack is how much the stacks of the process may grow while a policy compares
	// values, in bytes. OPA compares arrays element by element, each on the stack of the
	// one before; Go ends the process when one stack reaches a gigabyte.
	maxStack = 48 << 20
	// eventsBetweenLooks is how often the stacks are looked at.
	eventsBetweenLooks = 1024
)

// StackGuard is told of each step of a comparison, which no Cancel is asked about, and
// ends it by a panic before the stack is too deep.
type StackGuard struct {
	events int
	sample []metrics.Sample
	base   uint64
}

// Enabled has the engine tell.
func (*StackGuard) Enabled() bool { return true }

// Config asks for no more than the step itself.
func (*StackGuard) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent looks at the stacks now and then.
func (g *StackGuard) TraceEvent(topdown.Event) {
	if g.events++; g.events%eventsBetweenLooks != 0 {
		return
	}
	if g.sample == nil {
		g.sample = []metrics.Sample{{Name: "/memory/classes/heap/stacks:bytes"}}
		metrics.Read(g.sample)
		g.base = g.sample[0].Value.Uint64()
		return
	}
	if metrics.Read(g.sample); g.sample[0].Value.Uint64() > g.base+maxStack {
		panic(ErrDeep)
	}
}
