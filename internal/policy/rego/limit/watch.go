// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
)

// reserved is the share of the time limit, as a divisor, that is kept for the
// parts of a policy that are still to be asked: together they have a quarter of
// it, however long the first ones take.
const reserved = 4

// promised is how many expressions of each part are evaluated whatever the time is:
// a rule that finds its violation at once finds it even where the machine has no
// time for anything. Past the limit that is bounded by the processor's time.
const promised = 128

// maxMade is the most that the built-ins of one evaluation may make together, in bytes.
const maxMade = 128 << 20

// Watch stops the parts of an evaluation at the ends of their shares of the time
// limit. A part may use up all but what is reserved for those after it; what it
// leaves is theirs. It is OPA's topdown.Cancel: the engine asks it before every
// expression.
type Watch struct {
	limit time.Duration
	parts int32
	// part is the one that runs, from 1; the parts up to stopped are over.
	part, stopped atomic.Int32
	// whole ends all parts at the limit. timer stops one part after another before that: it
	// fires at the time fires, from the beginning, and later where the processor is busy, so
	// that its count of the time falls behind.
	whole, timer *time.Timer
	fires        time.Duration
	// steps counts the expressions, and promise is up to where they aren't stopped.
	// Only the evaluating goroutine touches them.
	steps, promise int64
	overtime       overtime
	// made is what built-ins have made, in bytes, and allowed what they may have made
	// when the part that runs ends: half of what is left.
	made, allowed int64
	// exhausted says that the part that runs has made too much.
	exhausted atomic.Bool
	heap      heap
	// deep says that it was the stack. Only the evaluating goroutine touches it.
	deep bool
	// scale weighs what is made.
	scale *size.Scale
	// weighs are the functions that rules call to have it weighed.
	weighs map[string]*topdown.Builtin
	// hashed is how much long text is in lists, in bytes.
	hashed int64
	// lane is that of the options. wake gets a value whenever a part is stopped.
	lane   *Lane
	ticket ticket
	queued bool
	wake   chan struct{}
	// refusals are those of the part that runs.
	refusals
}

// Spend counts what a built-in is about to make; false when it is too much.
func (w *Watch) Spend(bytes int64) bool {
	w.made += bytes
	return w.made <= w.allowed
}

// Options say what a watch holds an evaluation to.
type Options struct {
	// Time is the time of all parts together, and Spent what has gone of it before they begin.
	Time, Spent time.Duration
	// Parts is how many there are.
	Parts int
	// Scale weighs what is made; weighs says that rules call for it.
	Scale  *size.Scale
	Weighs bool
	// Lane is where a long evaluation waits for its turns, in the names of a client and of a
	// policy; nil for none.
	Lane           *Lane
	Client, Policy string
}

// NewWatch begins an evaluation's time.
func NewWatch(opts Options) *Watch {
	w := &Watch{
		limit:    opts.Time,
		parts:    int32(max(opts.Parts, 1)),
		scale:    opts.Scale,
		lane:     opts.Lane,
		ticket:   ticket{client: opts.Client, policy: opts.Policy},
		wake:     make(chan struct{}, 1),
		overtime: overtime{left: max(opts.Time/overtimeShare, leastOvertime)},
	}
	if opts.Weighs {
		w.weighs = w.weighing()
	}
	w.fires = w.end(1)
	w.timer = time.AfterFunc(time.Hour, w.elapsed)
	w.timer.Reset(w.fires - opts.Spent)
	w.whole = time.AfterFunc(opts.Time-opts.Spent, w.Cancel)
	return w
}

// elapsed is called when the timer fires: each call sets it for the next.
func (w *Watch) elapsed() {
	at := w.fires
	part := w.part.Load()
	if w.end(part) <= at {
		w.stop(part)
		part++
	}
	if w.fires = max(w.end(part), at+time.Millisecond); w.fires < w.limit {
		w.timer.Reset(w.fires - at)
	}
}

// end is when a part's share ends, from the beginning of all of them.
func (w *Watch) end(part int32) time.Duration {
	left := time.Duration(max(w.parts-max(part, 1), 0))
	return w.limit - w.limit/reserved*left/time.Duration(w.parts)
}

// Begin begins the next part.
func (w *Watch) Begin() {
	w.overtime.end()
	w.part.Add(1)
	w.exhausted.Store(false)
	w.deep = false
	w.refusals = refusals{}
	w.promise = w.steps + promised
	w.allowed = w.made + (maxMade-w.made)/2
}

// Stop ends the watch; nothing is stopped by it any more.
func (w *Watch) Stop() {
	w.overtime.end()
	w.whole.Stop()
	w.timer.Stop()
	if w.queued {
		w.lane.leave(&w.ticket)
	}
}

// Cancel stops the part that runs and all after it.
func (w *Watch) Cancel() { w.stop(math.MaxInt32) }

// stop stops the parts up to one, and none less than are stopped already.
func (w *Watch) stop(part int32) {
	for was := w.stopped.Load(); was < part && !w.stopped.CompareAndSwap(was, part); {
		was = w.stopped.Load()
	}
	w.rouse()
}

// rouse has whoever waits for a turn look whether its time is up.
func (w *Watch) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Cancelled says whether the part that runs must stop.
func (w *Watch) Cancelled() bool {
	if w.steps++; w.steps%stepsBetweenLooks == 0 {
		w.look()
	}
	if w.steps <= w.promise {
		return w.over() && w.overtime.used()
	}
	if w.steps%turn == 0 && w.lane != nil {
		w.queued = true
		w.lane.take(&w.ticket, w.wake, w.over)
	}
	if w.exhausted.Load() {
		return true
	}
	return w.over()
}

// look ends the part that runs when it holds too much, on the heap or on the stack.
func (w *Watch) look() {
	if w.deep = w.deep || deep(); w.deep || w.heapGrown() {
		w.exhausted.Store(true)
	}
}

// Steps is how many expressions were evaluated so far.
func (w *Watch) Steps() int64 { return w.steps }

// Exhausted says that the part that runs has made too much.
func (w *Watch) Exhausted() bool { return w.exhausted.Load() }

// Deep says that the part that runs was ended because its rules ask for one another too deep.
func (w *Watch) Deep() bool { return w.deep }

// Limit is the time of all parts together.
func (w *Watch) Limit() time.Duration { return w.limit }

// Functions are those that rules call to have weighed what they gather; nil for none.
func (w *Watch) Functions() map[string]*topdown.Builtin { return w.weighs }

// over says that the time of the part that runs is up.
func (w *Watch) over() bool {
	return w.stopped.Load() >= w.part.Load()
}
