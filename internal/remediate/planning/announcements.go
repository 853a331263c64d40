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
	// searches is how far the search for a policy's canary has come.
	searches map[string]search
}

func newAnnouncements() *announcements {
	return &announcements{said: map[string]string{}, searches: map[string]search{}}
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
	if known := s.searches[policyName]; known.of == of {
		known.complete = false
		return known
	}
	return search{of: of, reads: canaryReads}
}

// notFound keeps how far the search has come, and says how long to wait: a second until each object has been read
// once, then longer and longer.
func (s *announcements) notFound(policyName string, ended search, longest time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ended.complete {
		ended.seen, ended.why = nil, ""
	}
	if ended.wait > 0 || ended.complete {
		ended.wait = min(max(2*ended.wait, time.Second), longest)
	}
	s.searches[policyName] = ended
	return max(ended.wait, time.Second)
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
