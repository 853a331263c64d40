// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

const (
	// eventWindow and eventsPerWindow bound the events on objects, per policy.
	eventWindow     = time.Minute
	eventsPerWindow = 50
)

// recorder records an event; events.EventRecorder of client-go is one.
type recorder interface {
	Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any)
}

// announcer turns transitions into events, within bounds. What it remembers is
// this process's: after a restart the first pass is summarised again.
type announcer struct {
	recorder recorder
	clock    clock.PassiveClock

	mu       sync.Mutex
	policies map[string]*announced
}

// announced is what has been said of one policy.
type announced struct {
	// windowStart, sent and left bound the events on objects.
	windowStart time.Time
	sent, left  int
	// revision is the one whose first pass was summarised.
	revision string
	// violating says that the last finished pass found violations.
	violating bool
	// incomplete are the kinds last reported as incomplete.
	incomplete map[string]bool
}

func newAnnouncer(r recorder, c clock.PassiveClock) *announcer {
	return &announcer{recorder: r, clock: c, policies: map[string]*announced{}}
}

func (a *announcer) found(found []index.Transition) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, t := range found {
		if a.of(t.Policy).admit(a.clock.Now()) {
			a.send(violationFound(t))
		}
	}
}

// admit takes one event from the policy's window, or counts it as left out.
func (s *announced) admit(now time.Time) bool {
	if s.left == 0 && now.Sub(s.windowStart) >= eventWindow {
		s.windowStart, s.sent = now, 0
	}
	if s.left > 0 || s.sent >= eventsPerWindow {
		s.left++
		return false
	}
	s.sent++
	return true
}

// review announces what changed of a policy as a whole, and says when to come
// again; 0 for no need.
func (a *announcer) review(p *v1alpha1.ClusterRegoPolicy, s index.Summary) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	said := a.of(p.Name)
	for _, n := range said.next(p, s) {
		a.send(n)
	}
	if said.left == 0 {
		return 0
	}
	if wait := eventWindow - a.clock.Since(said.windowStart); wait > 0 {
		return wait
	}
	a.send(moreViolations(p, said.left, s))
	said.windowStart, said.sent, said.left = a.clock.Now(), 0, 0
	return 0
}

func (s *announced) next(p *v1alpha1.ClusterRegoPolicy, now index.Summary) []notice {
	out := s.unread(p, now)
	if now.State == v1alpha1.ScanPending || now.Vague() {
		return out
	}
	if s.revision != now.Revision {
		s.revision = now.Revision
		if now.Violating > 0 {
			out = append(out, firstPass(p, now))
		}
	}
	if now.State != v1alpha1.ScanComplete || now.Errors > 0 { // what couldn't be judged may violate
		s.violating = s.violating || now.Violating > 0
		return out
	}
	if s.violating && now.Violating == 0 {
		out = append(out, violationsResolved(p, now))
	}
	s.violating = now.Violating > 0
	return out
}

// unread tells of other kinds than before that can't be listed or watched.
func (s *announced) unread(p *v1alpha1.ClusterRegoPolicy, now index.Summary) (out []notice) {
	incomplete := map[string]bool{}
	for _, k := range now.Incomplete {
		incomplete[k.Group+"/"+k.Kind] = true
	}
	if len(incomplete) > 0 && !maps.Equal(incomplete, s.incomplete) {
		out = append(out, scanIncomplete(p, now))
	}
	s.incomplete = incomplete
	return out
}

func (a *announcer) of(policy string) *announced {
	s := a.policies[policy]
	if s == nil {
		s = &announced{}
		a.policies[policy] = s
	}
	return s
}

func (a *announcer) forget(policy string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.policies, policy)
}

func (a *announcer) send(n notice) {
	a.recorder.Eventf(n.regarding, n.related, n.eventType, n.reason, action, "%s", prose.Shorten(n.note, maxNote))
}
