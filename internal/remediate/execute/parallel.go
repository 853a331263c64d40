// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"sync"
)

// MaxParallel is how many targets of a plan are worked on at a time.
const MaxParallel = 8

// InParallel calls do for targets 0 to n-1, as many at a time as the pass is wide.
func (p *Pass) InParallel(n int, do func(int)) {
	InParallel(n, cmp.Or(p.Width, MaxParallel), do)
}

// InParallel calls do for 0 to n-1, width at a time, and waits for all.
func InParallel(n, width int, do func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, width)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}
