// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"sync/atomic"
	"time"
)

// refusals remembers the first call of a built-in function that was refused because of a cap. The call is undefined, so
// that what else its rule finds is found. Where built-in functions may fail (strictBuiltinErrors: false), the object
// would otherwise pass for being too large.
type refusals struct{ first error }

func (r *refusals) refuse(why error) {
	if r.first == nil {
		r.first = why
	}
}

// Refused is why the first call was refused because of a cap; nil when none was.
func (r *refusals) Refused() error { return r.first }

// Brief ends an evaluation of one part by time alone. It is a topdown.Cancel.
type Brief struct {
	begin time.Time
	timer *time.Timer
	over  atomic.Bool
	refusals
}

// NewBrief begins an evaluation's time.
func NewBrief(allowed time.Duration) *Brief {
	b := &Brief{begin: now()}
	b.timer = time.AfterFunc(allowed, b.Cancel)
	return b
}

// Cancel stops the evaluation.
func (b *Brief) Cancel() { b.over.Store(true) }

// Cancelled reports whether the evaluation must stop.
func (b *Brief) Cancelled() bool { return b.over.Load() }

// Stop ends it, and says how long it took; it stops nothing any more.
func (b *Brief) Stop() time.Duration {
	b.timer.Stop()
	return now().Sub(b.begin)
}
