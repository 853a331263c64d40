// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

// relistDue lists anew what has waited and rested for long enough.
func (s *Scanner) relistDue(now time.Time) {
	s.preferWhole()
	s.references.wake(s.clock, earlier(s.wholeDue(now), s.partlyDue(now)))
}

// earlier is the first of two times, of which the zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// fewNamespaces are as many as are listed one by one of a kind that one list holds, so that most verdicts aren't given
// again.
const fewNamespaces = 8

// preferWhole has a kind be listed as a whole where that takes one request, and namespace by namespace takes many.
func (s *Scanner) preferWhole() {
	for gk, p := range s.references.partly {
		if k := s.kinds[gk]; k != nil && k.small.Load() && len(p.where.Names()) > fewNamespaces {
			s.references.wait(gk, p.at)
			delete(s.references.partly, gk)
		}
	}
}

// wholeDue has those kinds be listed whose time has come, and gives that of the next.
func (s *Scanner) wholeDue(now time.Time) (next time.Time) {
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
		next = earlier(next, at)
	}
	return next
}

// partlyDue is the same for partial passes. None waits until a kind has rested that was listed as a whole: it is small.
func (s *Scanner) partlyDue(now time.Time) (next time.Time) {
	for gk, p := range s.references.partly {
		k := s.kinds[gk]
		if k == nil {
			delete(s.references.partly, gk)
			continue
		}
		at := p.at
		if rested := k.restedPartlyAt(); at.Before(rested) {
			at = rested
		}
		if soon := now.Add(underwayPoll); k.underway.Load() && at.Before(soon) {
			at = soon // it may have gone through some of the objects already
		}
		if !at.After(now) {
			delete(s.references.partly, gk)
			k.relistIn(p.where)
			continue
		}
		next = earlier(next, at)
	}
	return next
}

// wait has a kind be judged anew at a time, if it doesn't wait for that already.
func (r *referenceChanges) wait(gk schema.GroupKind, at time.Time) {
	if _, waits := r.waiting[gk]; !waits {
		r.waiting[gk] = at
	}
}

// waitIn has what lives in some namespaces be judged anew at a time. Once they are too many for a partial pass, those
// that waited for one still do: the whole kind may have to rest for long yet, and where it hasn't, wholeDue comes first
// and forgets them.
func (r *referenceChanges) waitIn(gk schema.GroupKind, where inventory.Namespaces, at time.Time) {
	before, waits := r.partly[gk]
	if waits {
		at = before.at
	}
	if where = where.With(before.where); where.All() {
		r.wait(gk, at)
		return
	}
	r.partly[gk] = partly{where: where, at: at}
}

// ask has a kind be judged anew as soon as it has rested for the share of the time for which it is listed.
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

// done forgets what a pass over the whole kind does as well.
func (r *referenceChanges) done(gk schema.GroupKind) {
	delete(r.waiting, gk)
	delete(r.errors, gk)
	delete(r.asked, gk)
	delete(r.partly, gk)
}

// wake has due tell at a time; at none for zero.
func (r *referenceChanges) wake(c clock.WithTicker, at time.Time) {
	if r.timer != nil {
		r.timer.Stop()
		r.timer = nil
	}
	if !at.IsZero() {
		r.timer = c.NewTimer(max(at.Sub(c.Now()), 0))
	}
}
