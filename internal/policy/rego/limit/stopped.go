// SPDX-License-Identifier: Apache-2.0

package limit

import "errors"

// What stops an evaluation.
var (
	// ErrTime is in the chain of Decision.Err when a policy was stopped at its
	// time limit.
	ErrTime = errors.New("stopped at its time limit")
	// ErrMemory is in the chain of Decision.Err when a policy was stopped because
	// it made too much.
	ErrMemory = errors.New("stopped at its memory limit")
	// ErrHeavy ends the evaluation that makes a value which takes too long to compare: it is
	// the value of a panic too.
	ErrHeavy = errors.New("a value holds too much, written out")
	// ErrDeep is the value of the panic that ends a comparison which nothing else can stop.
	ErrDeep = errors.New("the stack grows too deep")
)

// refusals remembers the first call of a built-in function that was refused because of a limit.
type refusals struct{ first error }

// Refuse remembers that a call was refused, and why.
func (r *refusals) Refuse(why error) {
	if r.first == nil {
		r.first = why
	}
}

// Refused is why the first call was refused because of a limit; nil when none was.
func (r *refusals) Refused() error { return r.first }
