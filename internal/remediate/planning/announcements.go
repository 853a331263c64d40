// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"maps"
	"strings"
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

// searched is how far the search for a canary has come, of a policy and strategy as they were then.
type searched struct {
	of   string
	seen map[string]bool
	why  string
	// wait is the last wait; zero until all candidates have been read once.
	wait time.Duration
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

// search is where to go on with the search for a policy's canary. It begins again where the policy or its strategy is
// another than before, which of says.
func (s *announcements) search(policyName, of string) search {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.searches[policyName]
	if state.of != of {
		state = searched{of: of}
		s.searches[policyName] = state
	}
	return search{reads: canaryReads, seen: state.seen, why: state.why}
}

// notFound keeps how far the search has come, and says how long to wait: a second until each object has been read
// once, then longer and longer.
func (s *announcements) notFound(policyName string, ended search, longest time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	state := s.searches[policyName]
	state.seen, state.why = ended.seen, ended.why
	if ended.complete {
		state.seen, state.why = nil, ""
	}
	if state.wait > 0 || ended.complete {
		state.wait = min(max(2*state.wait, time.Second), longest)
	}
	s.searches[policyName] = state
	return max(state.wait, time.Second)
}

// endSearch forgets the search for a policy's canary.
func (s *announcements) endSearch(policyName string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.searches, policyName)
}

// forget forgets all of a policy that is gone.
func (s *announcements) forget(policyName string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.searches, policyName)
	maps.DeleteFunc(s.said, func(subject, _ string) bool {
		return subject == policyName || strings.HasPrefix(subject, policyName+"/")
	})
}
