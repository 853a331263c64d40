// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"time"
)

const (
	// slowestShown is how many tests of a stage are named, of those that take long.
	slowestShown = 10
	slow         = time.Second
)

// timing is how long one test took, or one spec of a suite.
type timing struct {
	name string
	took time.Duration
}

// slowest gives those that took longest, the longest first.
func slowest(timings []timing) []timing {
	long := slices.DeleteFunc(slices.Clone(timings), func(t timing) bool { return t.took < slow })
	slices.SortStableFunc(long, func(a, b timing) int { return cmp.Compare(b.took, a.took) })
	return long[:min(len(long), slowestShown)]
}
