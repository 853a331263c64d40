// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"syscall"
	"time"
)

// processorTime is how much of the processors this process has had.
func processorTime() time.Duration {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
