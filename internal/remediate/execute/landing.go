// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"sync"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// A write whose answer is lost may still reach its object. For how long is
// bounded: it isn't sent later than sendWithin after its intent was recorded, we
// give it up after writeTimeout, and the API server ends any request of that kind
// within a minute (kube-apiserver --request-timeout) of having received it.
const (
	sendWithin   = 20 * time.Second
	writeTimeout = 35 * time.Second
)

// Landings remembers when this process first saw each write that may still reach
// its object: whoever recorded it may have another clock.
type Landings struct {
	mu   sync.Mutex
	seen map[string]map[landingKey]time.Time
}

type landingKey struct {
	uid    string
	intent time.Time
}

// NewLandings remembers no write yet.
func NewLandings() *Landings { return &Landings{seen: map[string]map[landingKey]time.Time{}} }

// until is until when a target's writes may reach their objects, by this process's
// own clock.
func (l *Landings) until(plan, uid string, rec *v1alpha1.TargetRecord, now time.Time) time.Time {
	recorded := record.LandsUntil(rec)
	if l == nil || recorded.IsZero() {
		return recorded
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.seen[plan] == nil {
		l.seen[plan] = map[landingKey]time.Time{}
	}
	key := landingKey{uid, recorded.UTC()}
	if _, known := l.seen[plan][key]; !known {
		l.seen[plan][key] = now
	}
	return l.seen[plan][key].Add(record.LandingBound)
}

// Drop forgets the writes of a plan.
func (l *Landings) Drop(plan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, plan)
}

// landsUntil is until when the writes of a target may reach their objects.
func (p *Pass) landsUntil(uid string, rec *v1alpha1.TargetRecord) time.Time {
	return p.Landings.until(p.Remediation.Name, uid, rec, p.Targets.Clock.Now())
}

// AtLandings replaces what other processes' clocks say by our own.
func (p *Pass) AtLandings(views []rollout.TargetView) {
	for i := range views {
		if !views[i].LandsUntil.IsZero() {
			views[i].LandsUntil = p.landsUntil(views[i].Object.UID, p.Records.Record(i))
		}
	}
}
