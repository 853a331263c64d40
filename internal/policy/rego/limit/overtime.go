// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"runtime"
	"time"
)

const (
	// overtimeShare is the share of the limit, as a divisor, that the promised expressions
	// of all parts may take together when it is over; leastOvertime is the least.
	overtimeShare = 2
	leastOvertime = 50 * time.Millisecond
)

// overtime counts what promised expressions take when the time is up: of the processor,
// for a machine that is busy with other things must not cost a rule its promise.
type overtime struct {
	left time.Duration
	// since is the processor's time of this thread when the overtime began that runs.
	since time.Duration
	runs  bool
}

// used says that no overtime is left. The evaluation keeps its thread until it ends.
func (o *overtime) used() bool {
	if !o.runs {
		runtime.LockOSThread()
		o.runs, o.since = true, ThreadTime()
	}
	return ThreadTime()-o.since >= o.left
}

// end ends the overtime that runs.
func (o *overtime) end() {
	if !o.runs {
		return
	}
	o.runs = false
	o.left -= ThreadTime() - o.since
	runtime.UnlockOSThread()
}
