// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"errors"
	"math"
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// What ends an evaluation.
var (
	// ErrTime is in the chain of Decision.Err when a policy was stopped at its time limit.
	ErrTime = errors.New("stopped at its time limit")
	// ErrMemory is in the chain of Decision.Err when a policy was stopped because it made too much.
	ErrMemory = errors.New("stopped at its memory limit")
)

const (
	// interval is how often a watch looks at the time and the heap. Nearly all evaluations end before the first look.
	interval = 5 * time.Millisecond
	// maxGrowth is how much the heap may grow while a policy is evaluated, in bytes.
	maxGrowth = 128 << 20
	// reserved is the share of the time limit, as a divisor, that is kept for the parts of a policy that still have to
	// be evaluated: together they have a quarter of it, however long the first ones take.
	reserved = 4
	// promised is how many expressions of each part are evaluated past the limit: a rule that finds its violation at
	// once finds it even after others that have taken all the time. They have half of the
	// limit again, and at least leastOvertime: of the processor, for a busy machine mustn't cost a rule its promise.
	promised      = 128
	leastOvertime = 200 * time.Millisecond
	// maxFrames is how many calls may be on the stack of an evaluation: some fifty megabytes. Go ends the process when
	// one stack reaches a gigabyte.
	maxFrames = 150_000
	// stepsBetweenLooks is how often the stack is looked at, in expressions.
	stepsBetweenLooks = 1024
)

// Options are the bounds of a watch.
type Options struct {
	// Time is the time of all parts together, and Spent what has gone of it before they begin.
	Time, Spent time.Duration
	// Parts is how many there are.
	Parts int
	// Lane is where a long evaluation waits for its turns, in the names of a client and of a policy; nil for none.
	Lane           *Lane
	Client, Policy string
}

// Watch ends the parts of an evaluation at the ends of their shares of the time limit, and when the heap or the stack
// grows too large. A part may use up all but what is reserved for those after it. It is a topdown.Cancel.
type Watch struct {
	options Options
	begin   time.Time
	// part is the one that runs, from 1; the parts up to stopped are over, and exhausted is the last to make too much.
	part, stopped, exhausted atomic.Int32
	// over ends promised expressions too, and ended says that the watch has been stopped.
	over, ended atomic.Bool
	timer       *time.Timer
	// base is the size of the heap when the evaluation began to take long, and atLimit the processor's time when its
	// own was up; only the timer's goroutine uses them.
	base    uint64
	atLimit time.Duration
	// steps counts the expressions, promise is up to where they aren't stopped, and deep says that the stack was too
	// large. Only the evaluating goroutine uses them.
	steps, promise int64
	deep           bool
	ticket         ticket
	queued         bool
	// wake gets a value whenever a part is stopped.
	wake chan struct{}
	// refusals are those of the part that runs.
	refusals
}

// NewWatch begins an evaluation's time.
func NewWatch(o Options) *Watch {
	o.Parts = max(o.Parts, 1)
	w := &Watch{options: o, begin: now().Add(-o.Spent), wake: make(chan struct{}, 1),
		ticket: ticket{client: o.Client, policy: o.Policy}}
	w.timer = time.AfterFunc(time.Hour, w.look)
	w.timer.Reset(w.next())
	return w
}

// now is the time: what is measured is what the processor really takes.
func now() time.Time { return time.Now() } //nolint:forbidigo // no decision depends on which time it is

// next is how long it is until the next look.
func (w *Watch) next() time.Duration {
	left := w.end(w.part.Load()) - now().Sub(w.begin)
	return max(min(interval, left), time.Millisecond)
}

// look stops what has had its time or made too much.
func (w *Watch) look() {
	part, elapsed := w.part.Load(), now().Sub(w.begin)
	if elapsed >= w.options.Time {
		w.stop(math.MaxInt32)
		if w.atLimit == 0 {
			w.atLimit = processorTime()
		}
		overtime := max(w.options.Time/2, leastOvertime)
		w.over.Store(elapsed >= w.options.Time+overtime && processorTime()-w.atLimit >= overtime)
	} else if elapsed >= w.end(part) {
		w.stop(part)
	}
	if w.heapGrown() {
		w.exhausted.Store(part)
		w.stop(part)
	}
	if !w.ended.Load() {
		w.timer.Reset(w.next())
	}
}

// end is when a part's share ends, from the beginning of all of them.
func (w *Watch) end(part int32) time.Duration {
	parts, limit := int32(w.options.Parts), w.options.Time
	left := time.Duration(max(parts-max(part, 1), 0))
	return limit - limit/reserved*left/time.Duration(parts)
}

// heapGrown reports whether what is alive on the heap has grown by too much since the first look. Garbage is collected
// first: it doesn't count. What other evaluations make in the meantime does.
func (w *Watch) heapGrown() bool {
	size := heapSize()
	if w.base == 0 {
		w.base = size
	}
	if size <= w.base+maxGrowth {
		return false
	}
	runtime.GC()
	alive := heapSize()
	grown := alive > w.base+maxGrowth
	w.base = min(w.base, alive) // the base was mostly garbage, if it was above what is alive now
	return grown
}

func heapSize() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Begin begins the next part.
func (w *Watch) Begin() {
	w.part.Add(1)
	w.deep = false
	w.promise = w.steps + promised
	w.refusals = refusals{}
}

// Stop ends the watch; it stops nothing any more.
func (w *Watch) Stop() {
	w.ended.Store(true)
	w.timer.Stop()
	if w.queued {
		w.options.Lane.leave(&w.ticket)
	}
}

// Cancel stops the part that runs and all after it.
func (w *Watch) Cancel() { w.stop(math.MaxInt32) }

// stop stops the parts up to one, and none less than are stopped already.
func (w *Watch) stop(part int32) {
	for was := w.stopped.Load(); was < part && !w.stopped.CompareAndSwap(was, part); {
		was = w.stopped.Load()
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Cancelled reports whether the part that runs must stop. Topdown calls it before every expression.
func (w *Watch) Cancelled() bool {
	w.steps++
	if w.steps%stepsBetweenLooks == 0 && deep() {
		w.deep = true
		w.stop(w.part.Load())
	}
	if w.steps%turn == 0 && w.options.Lane != nil {
		w.queued = true
		w.options.Lane.take(&w.ticket, w.wake, w.late)
	}
	if !w.late() {
		return false
	}
	return w.steps > w.promise || w.deep || w.Exhausted() || w.over.Load()
}

// late reports whether the part that runs is over.
func (w *Watch) late() bool { return w.stopped.Load() >= w.part.Load() }

// Steps is how many expressions were evaluated so far.
func (w *Watch) Steps() int64 { return w.steps }

// Exhausted reports whether the part that runs has made too much.
func (w *Watch) Exhausted() bool { return w.exhausted.Load() == w.part.Load() && w.part.Load() > 0 }

// Deep reports whether the part that runs was ended because its rules call one another too deep.
func (w *Watch) Deep() bool { return w.deep }

// Limit is the time of all parts together.
func (w *Watch) Limit() time.Duration { return w.options.Time }

// deep reports whether the stack of the calling goroutine holds too much.
func deep() bool {
	var one [1]uintptr
	return runtime.Callers(maxFrames, one[:]) > 0
}
