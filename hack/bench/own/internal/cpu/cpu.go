// SPDX-License-Identifier: Apache-2.0

// Package cpu measures what a piece of work takes of the processors. Start at Each.
package cpu

import (
	"syscall"
	"time"
)

// Each is the time that one of count takes of the processors, garbage collection included, in nanoseconds: all are
// done again and again for as long as limit, once they were done.
func Each(limit time.Duration, count int, all func() error) (int64, error) {
	if err := all(); err != nil { // what is done once, is done
		return 0, err
	}
	done := int64(0)
	began := Used()
	for Used()-began < limit {
		if err := all(); err != nil {
			return 0, err
		}
		done += int64(count)
	}
	return (Used() - began).Nanoseconds() / done, nil
}

// Used is the time that the process has had of the processors.
func Used() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
