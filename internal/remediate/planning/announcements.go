// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"sync"
	"time"
)

// announcements remembers what the planner has said, so that it says it once, and how
// far it has looked for a canary. Losing it in a restart repeats an event or looks
// again sooner, and nothing else.
type announcements struct {
	mu   sync.Mutex
	said map[string]string
	// searches is how far the search for a policy's canary has come, and what it waited last.
	searches map[string]searched
}

// searched is how far the search for a canary has come: how many objects were read and found unfit, and how long it
// has waited since all were.
type searched struct {
	passed int
	wait   time.Duration
}

func newAnnouncements() *announcements {
	return &announcements{said: map[string]string{}, searches: map[string]searched{}}
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

// search is where to go on with the search for a policy's canary.
func (s *announcements) search(policyName string) search {
	s.mu.Lock()
	defer s.mu.Unlock()
	return search{reads: canaryReads, passed: s.searches[policyName].passed}
}

// notFound keeps how far the search has come, and says how long to wait: a second until each object has been read
// once, then longer and longer.
func (s *announcements) notFound(policyName string, ended search, longest time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.searches[policyName]
	state.passed = ended.passed
	if ended.complete {
		state.passed = 0
	}
	if state.wait > 0 || ended.complete {
		state.wait = min(max(2*state.wait, time.Second), longest)
	}
	s.searches[policyName] = state
	return max(state.wait, time.Second)
}

// found forgets the search for a policy's canary.
func (s *announcements) found(policyName string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.searches, policyName)
}
