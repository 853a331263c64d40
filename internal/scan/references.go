// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/scan/listing"
)

// References tell that objects that policies refer to have changed.
type References interface {
	// Changed has a value after a change.
	Changed() <-chan struct{}
	// Take gives the keys of the references of which something has changed since it was asked last.
	Take() map[string]bool
	// TakeKnown gives the keys of those that weren't known and are by now, since it was asked last.
	TakeKnown() map[string]bool
	// States has a value after a kind has become known, or isn't any more, or for another reason.
	States() <-chan struct{}
}

const (
	// referenceDebounce is the least time from a change of what policies refer to until what
	// depends on it is judged anew.
	referenceDebounce = time.Second
	// referenceShare bounds how much of the time a kind is listed because of such changes: after a pass
	// that long, as a divisor, it isn't listed again for their sake.
	referenceShare = 10
	// underwayPoll is how often it is looked whether a pass has ended that must before the next is asked for.
	underwayPoll = 100 * time.Millisecond
)

// DefaultListShare has a kind rest for as long as a pass took, so that who has changed a policy, or waits for a pass,
// has it within three times what it takes.
const DefaultListShare = 0.5

// rest is how long a kind rests after a pass that took so long, to be listed for that share of the time.
func (o *Options) rest(took time.Duration) time.Duration {
	return time.Duration(float64(took) * (1/o.ListShare - 1))
}

// referenceChanges are the changes of objects that policies refer to, until what depends on them has
// been judged anew.
type referenceChanges struct {
	from References
	// waiting are kinds to be judged anew, with when; errors are those of them on which some policy couldn't be
	// evaluated until now, and asked those of which policies have changed or somebody waits for a pass.
	waiting       map[schema.GroupKind]time.Time
	errors, asked map[schema.GroupKind]bool
	timer         clock.Timer
}

func newReferenceChanges(from References) *referenceChanges {
	return &referenceChanges{from: from, waiting: map[schema.GroupKind]time.Time{},
		errors: map[schema.GroupKind]bool{}, asked: map[schema.GroupKind]bool{}}
}

func (r *referenceChanges) changed() <-chan struct{} {
	if r == nil || r.from == nil {
		return nil
	}
	return r.from.Changed()
}

func (r *referenceChanges) states() <-chan struct{} {
	if r == nil || r.from == nil {
		return nil
	}
	return r.from.States()
}

// due tells that a kind's time has come; nothing is told while none waits.
func (r *referenceChanges) due() <-chan time.Time {
	if r == nil || r.timer == nil {
		return nil
	}
	return r.timer.C()
}

// relistReferring relists the kinds of the policies that refer to objects that have changed: each kind for a small
// share of the time, at once what couldn't be judged until now, and in a moment what a fix waits for.
func (s *Scanner) relistReferring() {
	now := s.clock.Now()
	s.noteReferring(now)
	for gk := range s.index.TakeAsked() {
		s.references.ask(gk, now)
	}
	s.relistDue(now)
}

// noteReferring notes which kinds wait for that.
func (s *Scanner) noteReferring(now time.Time) {
	changed, known := s.references.take()
	for gk := range s.referring(changed) {
		s.references.wait(gk, now.Add(referenceDebounce))
	}
	for gk := range s.referring(known) {
		s.references.wait(gk, now.Add(referenceDebounce))
		s.references.errors[gk] = true
	}
}

func (r *referenceChanges) take() (changed, known map[string]bool) {
	if r.from == nil {
		return nil, nil
	}
	return r.from.Take(), r.from.TakeKnown()
}

func (s *Scanner) referring(changed map[string]bool) map[schema.GroupKind]bool {
	kinds := map[schema.GroupKind]bool{}
	if len(changed) == 0 {
		return kinds
	}
	snapshot := s.catalog.Snapshot()
	for _, p := range snapshot.Policies() {
		for _, r := range snapshot.ReferencesOf(p.Name) {
			if !changed[r.Key()] {
				continue
			}
			for _, gk := range listing.KindsOf(p) {
				kinds[gk] = true
			}
		}
	}
	return kinds
}

// tellReferring has the status of all policies that refer to something be looked at.
func (s *Scanner) tellReferring() {
	snapshot := s.catalog.Snapshot()
	var names []string
	for _, p := range snapshot.Policies() {
		if snapshot.LooksUp(p.Name) {
			names = append(names, p.Name)
		}
	}
	s.index.Notify(names...)
}

func (s *Scanner) relistDue(now time.Time) {
	var next time.Time
	for gk, at := range s.references.waiting {
		k := s.kinds[gk]
		if k == nil {
			s.references.done(gk)
			continue
		}
		at = s.references.rested(k, at)
		if soon := now.Add(underwayPoll); k.underway.Load() && !s.references.errors[gk] && at.Before(soon) {
			at = soon // how long it rests then isn't known yet
		}
		if !at.After(now) {
			s.references.done(gk)
			k.relist()
			continue
		}
		if next.IsZero() || at.Before(next) {
			next = at
		}
	}
	s.references.wake(s.clock, next)
}

// wait relists a kind at a time, unless it waits already.
func (r *referenceChanges) wait(gk schema.GroupKind, at time.Time) {
	if _, waits := r.waiting[gk]; !waits {
		r.waiting[gk] = at
	}
}

// ask relists a kind as soon as it has rested for its share of the time.
func (r *referenceChanges) ask(gk schema.GroupKind, now time.Time) {
	r.waiting[gk], r.asked[gk] = now, true
}

// rested is when a kind may be listed that is to be at a time, and may have to rest until later.
func (r *referenceChanges) rested(k *kindScan, at time.Time) time.Time {
	rested := k.restedAt()
	switch {
	case r.errors[k.kind]:
		return at
	case r.asked[k.kind]:
		rested = k.restedBrieflyAt()
	}
	if at.Before(rested) {
		return rested
	}
	return at
}

// done forgets that a kind waits.
func (r *referenceChanges) done(gk schema.GroupKind) {
	delete(r.waiting, gk)
	delete(r.errors, gk)
	delete(r.asked, gk)
}

// wake sets the timer of due; the zero time sets none.
func (r *referenceChanges) wake(c clock.WithTicker, at time.Time) {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if !at.IsZero() {
		r.timer = c.NewTimer(max(at.Sub(c.Now()), 0))
	}
}
