// SPDX-License-Identifier: Apache-2.0

package limit

import (
	"syscall"
	"time"
)

// ThreadTime is how much of the processor this thread has had.
func ThreadTime() time.Duration {
	const ofThread = 1 // RUSAGE_THREAD
	var usage syscall.Rusage
	if err := syscall.Getrusage(ofThread, &usage); err != nil {
		return time.Duration(1<<63 - 1) // no overtime where it can't be told
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
