// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"sync"
	"sync/atomic"
)

// MaxParallel is how many targets of a plan are worked on at a time.
const MaxParallel = 8

// InParallel calls do for targets 0 to n-1, as many at a time as the pass is wide.
func (p *Pass) InParallel(n int, do func(int)) {
	InParallel(n, cmp.Or(p.Width, MaxParallel), do)
}

// InParallel calls do for 0 to n-1, width at a time, and waits for all.
func InParallel(n, width int, do func(int)) {
	var next atomic.Int64
	work := func() {
		for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
			do(int(i))
		}
	}
	var others sync.WaitGroup
	for range min(n, width) - 1 {
		others.Go(work)
	}
	work() // where one is worked on at a time, that is here
	others.Wait()
}
