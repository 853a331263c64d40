// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// FlapFactor bounds a wave that flaps: it fails when it hasn't soaked within so
// many times deadline plus soak.
const FlapFactor = 3

// UnobservedFactor is how many times the progress deadline a target may be
// unreadable until its wave is undone: no answer is never a pass, and no failure of
// the fix either.
const UnobservedFactor = 2

// failures are the written targets that failed their check or their deadline, or
// that vanished.
func (o Observation) failures(m Members) []Mark {
	var failed []Mark
	last := o.lastWrite()
	for _, i := range append(append([]int{}, m.Applied...), m.Verified...) {
		t := o.Targets[i]
		switch {
		case t.Check != nil && t.Check.Result == CheckFailed:
			failed = append(failed, Mark{Target: i, State: t.State, Reason: t.Check.Reason, Message: t.Check.Message})
		case t.Check == nil || t.Check.Result == CheckWaiting:
			if message, late := o.overdue(t, last); late {
				failed = append(failed, Mark{Target: i, State: t.State, Reason: t.lateness(), Message: message})
			}
		}
	}
	return append(failed, o.vanished(m)...)
}

// overdue says whether a target that isn't verified has used up its time: the
// progress deadline since its write or since the soak broke, and a few times
// deadline plus soak since the wave's last write, so that a wave can't flap for
// ever. In the soak the deadline doesn't count: the target was verified until
// now, however long the soak has taken, and its time begins when the soak breaks.
func (o Observation) overdue(t TargetView, lastWrite time.Time) (string, bool) {
	if t.State == v1alpha1.TargetVerified && t.Check == nil || t.AppliedAt.IsZero() ||
		o.Status.Phase == v1alpha1.PhaseHeld {
		return "", false
	}
	deadline := o.patience(t)
	since := t.AppliedAt
	if o.Status.PhaseStartTime != nil && o.Status.PhaseStartTime.After(since) {
		since = o.Status.PhaseStartTime.Time
	}
	saw := "nothing could be observed"
	if t.Check != nil {
		saw = t.Check.Message
	}
	if o.Status.Phase == v1alpha1.PhaseVerifying && o.Now.Sub(since) > deadline {
		return fmt.Sprintf("not verified within %s: %s", deadline, saw), true
	}
	if limit := FlapFactor * (deadline + o.Soak()); o.Now.Sub(lastWrite) > limit {
		return fmt.Sprintf("kept flapping for %s: %s", limit, saw), true
	}
	return "", false
}

// patience is how long a target may take to be verified. One that can't be read may
// be well, and one look that succeeds decides.
func (o Observation) patience(t TargetView) time.Duration {
	deadline := o.Spec.Plan.Rollout.ProgressDeadline.Duration
	if t.lateness() == v1alpha1.ReasonUnobserved {
		deadline *= UnobservedFactor
	}
	return deadline
}

// lateness is the reason of a target whose time is used up: it was seen not to be
// well; or it couldn't be looked at, or wasn't well before its write either, which
// says nothing of the fix, and neither does health that nobody can tell.
func (t TargetView) lateness() string {
	switch {
	case t.Check == nil || t.Check.Reason == v1alpha1.ReasonUnobserved:
		return v1alpha1.ReasonUnobserved
	case circuit.ProvesNothing(t.Check.Reason):
		return t.Check.Reason
	default:
		return v1alpha1.ReasonDeadline
	}
}

// lastWrite is when the last write of the wave reached its object, or when the
// wave was begun anew after a hold.
func (o Observation) lastWrite() time.Time {
	var last time.Time
	if o.Status.WaveStartTime != nil {
		last = o.Status.WaveStartTime.Time
	}
	for _, t := range o.Targets {
		if t.Wave == o.Status.Wave && t.AppliedAt.After(last) {
			last = t.AppliedAt
		}
	}
	return last
}

// Soak is the soak time of the wave at work.
func (o Observation) Soak() time.Duration {
	if wave := int(o.Status.Wave); wave < len(o.Spec.Plan.Waves) {
		return o.Spec.Plan.Waves[wave].Soak.Duration
	}
	return v1alpha1.DefaultSoak
}

func (o Observation) checkMessage(target int) string {
	if c := o.Targets[target].Check; c != nil {
		return c.Message
	}
	return "not checked yet"
}
