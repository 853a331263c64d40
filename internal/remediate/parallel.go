package remediate

import (
	"sync"
)

// maxParallel is how many targets of a plan are worked on at a time.
const maxParallel = 8

// inParallel calls do for 0 to n-1, a few at a time, and waits for all.
func inParallel(n int, do func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}
