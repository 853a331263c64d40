package rego

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/open-policy-agent/opa/v1/topdown"
)

// reserved is the share of the time limit, as a divisor, that is kept for the
// parts of a policy that are still to be asked: together they have a quarter of
// it, however long the first ones take.
const reserved = 4

// promised is how many expressions of each part are evaluated whatever the time is:
// a rule that finds its violation at once finds it even where the machine has no
// time for anything. Past the limit that is bounded by the processor's time.
const promised = 128

// watch stops the parts of an evaluation at the ends of their shares of the time
// limit. A part may use up all but what is reserved for those after it; what it
// leaves is theirs. It is OPA's topdown.Cancel: the engine asks it before every
// expression.
type watch struct {
	limit time.Duration
	parts int32
	// part is the one that runs, from 1; the parts up to stopped are over.
	part, stopped atomic.Int32
	// timer fires at the time fires, from the beginning.
	timer *time.Timer
	fires time.Duration
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
	// scale weighs what is made.
	scale *scale
	// weighs are the functions that rules call to have it weighed.
	weighs map[string]*topdown.Builtin
	// hashed is how much long text is in lists, in bytes.
	hashed int64
	// lane is where a long evaluation waits for its turns; nil for none. wake gets a
	// value whenever a part is stopped.
	lane   *Lane
	ticket ticket
	queued bool
	wake   chan struct{}
}

// spend counts what a built-in is about to make; false when it is too much.
func (w *watch) spend(bytes int64) bool {
	w.made += bytes
	return w.made <= w.allowed
}

// newWatch begins a time limit for a number of parts.
func newWatch(limit time.Duration, parts int) *watch {
	w := &watch{limit: limit, parts: int32(max(parts, 1)), wake: make(chan struct{}, 1), overtime: overtime{left: max(limit/overtimeShare, leastOvertime)}}
	w.fires = w.end(1)
	w.timer = time.AfterFunc(time.Hour, w.elapsed)
	w.timer.Reset(w.fires)
	return w
}

// elapsed is called when the timer fires: each call sets it for the next.
func (w *watch) elapsed() {
	at := w.fires
	if at >= w.limit {
		w.Cancel()
		return
	}
	part := w.part.Load()
	if w.end(part) <= at {
		w.stopped.Store(part)
		w.rouse()
		part++
	}
	w.fires = max(w.end(part), at+time.Millisecond)
	w.timer.Reset(w.fires - at)
}

// end is when a part's share ends, from the beginning of all of them.
func (w *watch) end(part int32) time.Duration {
	left := time.Duration(max(w.parts-max(part, 1), 0))
	return w.limit - w.limit/reserved*left/time.Duration(w.parts)
}

// begin begins the next part.
func (w *watch) begin() {
	w.overtime.end()
	w.part.Add(1)
	w.exhausted.Store(false)
	w.promise = w.steps + promised
	w.allowed = w.made + (maxMade-w.made)/2
}

// stop ends the watch; nothing is stopped by it any more.
func (w *watch) stop() {
	w.overtime.end()
	w.timer.Stop()
	if w.queued {
		w.lane.leave(&w.ticket)
	}
}

// Cancel stops the part that runs and all after it.
func (w *watch) Cancel() {
	w.stopped.Store(math.MaxInt32)
	w.rouse()
}

// rouse has whoever waits for a turn look whether its time is up.
func (w *watch) rouse() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Cancelled says whether the part that runs must stop.
func (w *watch) Cancelled() bool {
	if w.steps++; w.steps%stepsBetweenLooks == 0 && w.heapGrown() {
		w.exhausted.Store(true)
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

// over says that the time of the part that runs is up.
func (w *watch) over() bool {
	return w.stopped.Load() >= w.part.Load()
}
