// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// finding is an alert without its labels and links.
type finding struct {
	alert       string
	urgency     urgency
	summary     string
	description string
	since, due  time.Time
	goesOn      bool
}

// fires says whether the finding is due at now.
func (f finding) fires(now time.Time) bool { return !f.due.IsZero() && !f.due.After(now) }

// noLater takes back to now what began in the future, and its deadline with it: the time was
// written under another clock, by an earlier leader say, and what is there has begun.
func (f finding) noLater(now time.Time) finding {
	ahead := f.since.Sub(now)
	if f.since.IsZero() || ahead <= 0 {
		return f
	}
	f.since = now
	if !f.due.IsZero() {
		f.due = f.due.Add(-ahead)
	}
	return f
}

// planFindings are what a policy's plans call for: the one that is an alert now, and those that
// aren't due yet. A policy has one plan at work at most, and what counts is the latest; only of
// targets that couldn't be fixed, and of a namespace that is left out, may an earlier plan still
// speak.
func planFindings(w *world, policy string, now time.Time) []finding {
	plans := w.plans[policy]
	if len(plans) == 0 {
		return nil
	}
	latest := w.plan(plans[len(plans)-1])
	var found []finding
	// What needs a person most comes first.
	for _, judge := range []func(plan) (finding, bool){stuck, rollbackIncomplete, rolledBack, waveFailed,
		approvalOverdue, held} {
		if f, ok := judge(latest); ok {
			found = append(found, f.noLater(now))
		}
	}
	for _, judge := range []func(*world, []*v1alpha1.Remediation) (finding, bool){setAside, failedTargets,
		leftToOwners} {
		if f, ok := judge(w, plans); ok {
			found = append(found, f.noLater(now))
		}
	}
	return speaking(found, now)
}

// speaking are those of a policy's findings, in their order, that count: the first that fires or
// goes on, unless a later one fires that is more urgent, and all that aren't due yet. One that
// isn't due takes the place of none: people would be told that the fault of an earlier plan is over.
func speaking(found []finding, now time.Time) []finding {
	var awaited, chosen []finding
	for _, f := range found {
		switch {
		case !f.fires(now) && !f.goesOn:
			awaited = append(awaited, f)
		case len(chosen) == 0, f.fires(now) && f.urgency > chosen[0].urgency:
			chosen = []finding{f}
		}
	}
	return append(awaited, chosen...)
}

// setAside: an earlier plan has failed in one namespace alone, whose objects the later
// ones leave out.
func setAside(w *world, plans []*v1alpha1.Remediation) (finding, bool) {
	for i := len(plans) - 1; i >= 0; i-- {
		p := w.plan(plans[i])
		violates, known := false, true
		if p.stands() {
			violates, known = p.violating()
		}
		switch {
		case p.retried():
			return finding{}, false
		case !p.stands() || known && !violates || p.alone() == "" || p.Status.Reason == v1alpha1.ReasonNoAnswer:
			continue
		}
		for _, judge := range []func(plan) (finding, bool){rollbackIncomplete, rolledBack} {
			if f, ok := judge(p); ok {
				return f, true
			}
		}
	}
	return finding{}, false
}

// alone is the namespace in which alone a plan has failed, or "".
func (p plan) alone() string {
	if len(p.Status.FailedIn) != 1 {
		return ""
	}
	return p.Status.FailedIn[0]
}
