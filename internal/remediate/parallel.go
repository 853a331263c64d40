// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"cmp"
	"sync"
)

// maxParallel is how many targets of a plan are worked on at a time.
const maxParallel = 8

// inParallel calls do for targets 0 to n-1, as many at a time as the pass is wide.
func (p *pass) inParallel(n int, do func(int)) {
	inParallel(n, cmp.Or(p.width, maxParallel), do)
}

// inParallel calls do for 0 to n-1, width at a time, and waits for all.
func inParallel(n, width int, do func(int)) {
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
