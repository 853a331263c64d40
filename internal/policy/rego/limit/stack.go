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
	// framesOfEvent is how many calls one event adds, about: five where OPA compares. Where it is
	// more, the stack is above maxFrames when that is seen, of the ten times that Go allows.
	framesOfEvent = 8
	// eventsBetweenLooks is the least between two looks at the stack, and mostEventsBetween the most:
	// a look goes through all its calls, in some fifty nanoseconds each.
	eventsBetweenLooks = 1024
	mostEventsBetween  = 8 * eventsBetweenLooks
)

// deep says that the stack of the goroutine that asks holds too much. The stack itself is looked
// at, and not how much memory stacks have: one that has grown before shows no growth.
func deep() bool {
	var one [1]uintptr
	return runtime.Callers(maxFrames, one[:]) > 0
}

// StackGuard is told of each step of a comparison, which no Cancel is asked about, and
// ends it by a panic before the stack is too deep. One guards all queries of an evaluation.
// It counts the calls on the stack, and looks again when there can be too many.
type StackGuard struct {
	events, next int
	calls        []uintptr
}

// Enabled has the engine tell.
func (*StackGuard) Enabled() bool { return true }

// Config asks for no more than the step itself.
func (*StackGuard) Config() topdown.TraceConfig { return topdown.TraceConfig{} }

// TraceEvent looks at the stack now and then.
func (g *StackGuard) TraceEvent(topdown.Event) {
	if g.events++; g.events < g.next {
		return
	}
	left := maxFrames
	if g.next > 0 {
		left -= g.frames()
	}
	g.next = g.events + max(min(left/framesOfEvent, mostEventsBetween), eventsBetweenLooks)
	if left <= 0 {
		panic(ErrDeep)
	}
}

// frames is how many calls are on the stack, and no more than maxFrames.
func (g *StackGuard) frames() int {
	if g.calls == nil {
		g.calls = make([]uintptr, maxFrames)
	}
	return runtime.Callers(0, g.calls)
}
