// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"runtime"

	"github.com/open-policy-agent/opa/v1/topdown"
)

const (
	// maxFrames is how many calls may be on the stack of an evaluation: some fifty megabytes. OPA
	// compares arrays element by element, and asks rules of rules, each on the stack of the one
	// before; Go ends the process when one stack reaches a gigabyte.
	maxFrames = 150_000
	// eventsBetweenLooks is how often the stack is looked at: a look goes through its calls, in
	// some fifty nanoseconds each.
	eventsBetweenLooks = 1024
)

// deep says that the stack of the goroutine that asks holds too much. The stack itself is looked
// at, and not how much memory stacks have: one that has grown before shows no growth.
func deep() bool {
	var one [1]uintptr
	return runtime.Callers(maxFrames, one[:]) > 0
}

// StackGuard is told of each step of a comparison, which no Cancel is asked about, and
// ends it by a panic before the stack is too deep.
type StackGuard struct{ events int }

// Enabled has the engine tell.
func (*StackGuard) Enabled() bool { return true }

// Config asks for no more than the step itself.
func (*StackGuard) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent looks at the stack now and then.
func (g *StackGuard) TraceEvent(topdown.Event) {
	if g.events++; g.events%eventsBetweenLooks == 0 && deep() {
		panic(ErrDeep)
	}
}
