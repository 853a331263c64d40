//go:build !clockoffset

package main

import "k8s.io/utils/clock"

// newClock is the manager's time.
func newClock() clock.WithTicker { return clock.RealClock{} }
