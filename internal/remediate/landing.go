// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// A write whose answer is lost may still reach its object. For how long is
// bounded: it isn't sent later than sendWithin after its intent was recorded, we
// give it up after writeTimeout, and the API server ends any request of that kind
// within a minute (kube-apiserver --request-timeout) of having received it.
const (
	sendWithin   = 20 * time.Second
	writeTimeout = 35 * time.Second
	// landingPoll is how often an object is looked at that a write may still reach.
	landingPoll = 10 * time.Second
)

// landings remembers when this process first saw each write that may still reach
// its object: whoever recorded it may have another clock.
type landings struct {
	mu   sync.Mutex
	seen map[string]map[landingKey]time.Time
}

type landingKey struct {
	uid    string
	intent time.Time
}

func newLandings() *landings { return &landings{seen: map[string]map[landingKey]time.Time{}} }

// until is until when a target's writes may reach their objects, by this process's
// own clock.
func (l *landings) until(plan, uid string, rec *v1alpha1.TargetRecord, now time.Time) time.Time {
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

func (l *landings) drop(plan string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.seen, plan)
}

// landsUntil is until when the writes of a target may reach their objects.
func (p *pass) landsUntil(uid string, rec *v1alpha1.TargetRecord) time.Time {
	return p.landings.until(p.rem.Name, uid, rec, p.targets.clock.Now())
}

// atLandings replaces what other processes' clocks say by our own.
func (p *pass) atLandings(views []rollout.TargetView) {
	for i := range views {
		if !views[i].LandsUntil.IsZero() {
			views[i].LandsUntil = p.landsUntil(views[i].Object.UID, p.records.Record(i))
		}
	}
}

// keepLanding leaves a target pending, and in its wave, that would be settled or put
// into another while an earlier write of ours may still reach it: nobody would look at
// it any more.
func (a *attempt) keepLanding(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	moves := rec.Wave != nil && (a.previous.Wave == nil || *rec.Wave != *a.previous.Wave)
	if !rec.State.Settled() && !moves || !record.MayLand(&a.previous) {
		return rec
	}
	return a.awaitLanding("an earlier write of ours may still reach the object; once it can't: " + rec.Reason + ": " +
		rec.Message)
}

// awaitLanding leaves a target pending, with the record of its write, for another look.
func (a *attempt) awaitLanding(message string) v1alpha1.TargetRecord {
	rec := a.pending(v1alpha1.ReasonOutcomeUnknown, message)
	next := metav1.NewMicroTime(a.targets.clock.Now().Add(landingPoll))
	rec.NextAttemptAt = &next
	return *rec
}
