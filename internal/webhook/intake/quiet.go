package intake

import (
	"sync"
	"time"

	"k8s.io/utils/clock"
)

const (
	quietPeriod = 10 * time.Second
	quietLines  = 10
)

// Quiet bounds how many lines are logged of what anybody may bring about: ten in ten
// seconds. It is safe for concurrent use.
type Quiet struct {
	Clock clock.PassiveClock

	mu      sync.Mutex
	since   time.Time
	lines   int
	dropped int
}

// Allow says whether to log now, and how many lines weren't before.
func (q *Quiet) Allow() (ok bool, dropped int) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if now := q.Clock.Now(); now.Sub(q.since) >= quietPeriod {
		q.since, q.lines = now, 0
	}
	if q.lines >= quietLines {
		q.dropped++
		return false, 0
	}
	q.lines++
	dropped, q.dropped = q.dropped, 0
	return true, dropped
}
