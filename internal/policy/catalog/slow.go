// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"errors"
	"sync"
	"time"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

const (
	// slowAfter evaluations that are stopped within slowWithin make a policy slow; it
	// is so until none has been for as long.
	slowAfter  = 3
	slowWithin = 15 * time.Minute
)

// slowness remembers which policies were stopped at a limit of late, by revision.
type slowness struct {
	mu      sync.Mutex
	stopped map[string]stops
}

// stops are the last times that a revision was stopped, the oldest first.
type stops struct {
	revision string
	at       []time.Time
}

func newSlowness() *slowness { return &slowness{stopped: map[string]stops{}} }

// note remembers an evaluation that was stopped; others cost it nothing.
func (s *slowness) note(c *rego.Compiled, err error, now time.Time) {
	if err == nil || !errors.Is(err, rego.ErrTimeLimit) && !errors.Is(err, rego.ErrMemoryLimit) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.stopped[c.Name()]
	if known.revision != c.Revision() {
		known = stops{revision: c.Revision()}
	}
	known.at = append(known.at, now)
	known.at = known.at[max(len(known.at)-slowAfter, 0):]
	s.stopped[c.Name()] = known
}

// is says whether a policy is slow. One that has been slow stays so while any of
// its last stops is recent.
func (s *slowness) is(c *rego.Compiled, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	known, found := s.stopped[c.Name()]
	if !found {
		return false
	}
	last := known.at[len(known.at)-1]
	if known.revision != c.Revision() || now.Sub(last) > slowWithin {
		delete(s.stopped, c.Name())
		return false
	}
	return len(known.at) == slowAfter && last.Sub(known.at[0]) <= slowWithin
}

func (s *slowness) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.stopped, name)
}
