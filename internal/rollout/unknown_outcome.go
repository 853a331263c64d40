// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// afterLandings lets a plan neither end nor rest while a write may still reach an
// object of its: that is found out first, and undone or verified like any other.
func (o Observation) afterLandings(intent Intent) Intent {
	rests := intent.Phase.Facts().Waits && o.Status.Phase.Facts().Writes
	if o.Status.Phase.Final() || !rests && !intent.Phase.Final() {
		return intent
	}
	first, due, next := o.landing()
	if first < 0 {
		return intent
	}
	wait := Intent{Phase: o.Status.Phase, Wave: o.Status.Wave, HeldFrom: o.Status.HeldFrom, Reason: o.Status.Reason,
		Message: o.Status.Message, Resolve: due}
	if o.Status.Phase.Facts().Writes {
		wait.Message = o.Label(o.Status.Wave) +
			": waiting until a write whose answer was lost can't reach its object any more: " +
			o.Targets[first].Object.String()
	}
	if len(due) == 0 {
		wait.Wait = Until(o.Now, next)
	}
	return wait
}

// landing finds the pending targets that a write may still reach: the first of
// them, those to look at now, and when the next is to be looked at.
func (o Observation) landing() (first int, due []int, next time.Time) {
	first = -1
	for i, t := range o.Targets {
		if t.State != v1alpha1.TargetPending || t.LandsUntil.IsZero() {
			continue
		}
		if first < 0 {
			first = i
		}
		switch {
		case !t.NextAttemptAt.After(o.Now):
			due = append(due, i)
		case next.IsZero() || t.NextAttemptAt.Before(next):
			next = t.NextAttemptAt
		}
	}
	return first, due, next
}

// unfound is a recorded write of which nobody could find out whether it has happened,
// for so long after it may have arrived last that its wave is to be undone: those that
// are written already mustn't stay without anybody looking at them.
func (o Observation) unfound(m Members) (target int, found bool) {
	patience := UnobservedFactor * o.Spec.Plan.Rollout.ProgressDeadline.Duration
	for _, i := range m.Intents {
		since := o.Targets[i].LandsUntil
		if since.IsZero() {
			continue
		}
		if began := o.Status.WaveStartTime; began != nil && began.After(since) {
			since = began.Time
		}
		if o.Now.Sub(since) > patience {
			return i, true
		}
	}
	return 0, false
}

// notFound fails a wave of which a write's outcome can't be found out.
func (o Observation) notFound(target int) Intent {
	return o.fail(failure{reason: v1alpha1.ReasonNoAnswer, unanswered: true,
		failedIn: o.places([]Mark{{Target: target}}), message: fmt.Sprintf(
			"%s: whether its write has happened couldn't be found out within %s; that says nothing of the fix",
			o.Targets[target].Object.String(), UnobservedFactor*o.Spec.Plan.Rollout.ProgressDeadline.Duration)})
}
