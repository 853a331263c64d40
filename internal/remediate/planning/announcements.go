// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"sync"
	"time"
)

// announcements remembers what the planner has said, so that it says it once, and how
// long it waits for a canary. Losing it in a restart repeats an event or looks
// again sooner, and nothing else.
type announcements struct {
	mu    sync.Mutex
	said  map[string]string
	waits map[string]time.Duration
}

func newAnnouncements() *announcements {
	return &announcements{said: map[string]string{}, waits: map[string]time.Duration{}}
}

// isNew says whether this is news about the subject.
func (s *announcements) isNew(subject, what string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said[subject] == what {
		return false
	}
	s.said[subject] = what
	return true
}

// wait is how long to wait for a policy's canary: a second at first, doubling up
// to replanPoll.
func (s *announcements) wait(policyName string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits[policyName] = min(max(2*s.waits[policyName], time.Second), ReplanPoll)
	return s.waits[policyName]
}

// resetBackoff forgets how long a policy has waited.
func (s *announcements) resetBackoff(policyName string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.waits, policyName)
}
