// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"sync"
	"time"

	"github.com/go-logr/logr"
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

// allow says whether to log now, and how many lines weren't before.
func (q *Quiet) allow() (ok bool, dropped int) {
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

// Logger is a logger whose lines are bounded. The line after some that were left out says
// how many, as unsaid.
func (q *Quiet) Logger(to logr.Logger) logr.Logger {
	return to.WithSink(quietSink{LogSink: to.GetSink(), quiet: q})
}

type quietSink struct {
	logr.LogSink
	quiet *Quiet
}

func (s quietSink) Info(level int, message string, values ...any) {
	if ok, dropped := s.quiet.allow(); ok {
		s.LogSink.Info(level, message, append(values, "unsaid", dropped)...)
	}
}

func (s quietSink) Error(err error, message string, values ...any) {
	if ok, dropped := s.quiet.allow(); ok {
		s.LogSink.Error(err, message, append(values, "unsaid", dropped)...)
	}
}

func (s quietSink) WithValues(values ...any) logr.LogSink {
	return quietSink{LogSink: s.LogSink.WithValues(values...), quiet: s.quiet}
}

func (s quietSink) WithName(name string) logr.LogSink {
	return quietSink{LogSink: s.LogSink.WithName(name), quiet: s.quiet}
}
