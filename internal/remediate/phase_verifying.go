package remediate

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// verifyPoll is how often targets that aren't verified yet are looked at.
	verifyPoll = time.Second
	// soakPoll is how often soaking targets are looked at, at the least; a large
	// wave is looked at less often (see soakWait).
	soakPoll = 2 * time.Second
	// flapFactor bounds a wave that flaps: it is rolled back when it hasn't
	// soaked within so many times deadline plus soak.
	flapFactor = 3
)

// stepVerifying waits until every written target of the wave is clean and healthy.
func stepVerifying(o Observation) Intent {
	m := o.members(o.Status.Wave)
	if failed := o.failures(m); len(failed) > 0 {
		return o.rollBack(failed)
	}
	marks, waiting := o.verified(m)
	written := len(m.applied) + len(m.verified)
	switch {
	case len(waiting) > 0:
		return o.stay(fmt.Sprintf("%d of %d verified; waiting for %s: %s", written-len(waiting), written,
			name(o.Targets[waiting[0]].Object), o.checkMessage(waiting[0])), Intent{Marks: marks, Outcomes: o.setBack(marks), Wait: verifyPoll})
	case m.pending() && o.open(), len(m.intents) > 0:
		next := o.enter(v1alpha1.PhaseApplying, "batch verified; going on")
		next.Marks, next.Outcomes = marks, o.setBack(marks)
		return next
	default:
		next := o.enter(v1alpha1.PhaseSoaking, fmt.Sprintf("verified; soaking for %s", o.soak()))
		next.Marks, next.Outcomes, next.HealthySince = marks, o.setBack(marks), o.Now
		return next
	}
}

// stepSoaking waits until the wave has stayed verified without a break.
func stepSoaking(o Observation) Intent {
	m := o.members(o.Status.Wave)
	if failed := o.failures(m); len(failed) > 0 {
		return o.rollBack(failed)
	}
	marks, waiting := o.verified(m)
	if len(waiting) > 0 {
		next := o.enter(v1alpha1.PhaseVerifying, fmt.Sprintf("soak broken by %s: %s",
			name(o.Targets[waiting[0]].Object), o.checkMessage(waiting[0])))
		next.Marks, next.Outcomes = marks, o.setBack(marks)
		return next
	}
	since := o.Now
	if o.Status.HealthySince != nil {
		since = o.Status.HealthySince.Time
	}
	if left := o.soak() - o.Now.Sub(since); left > 0 {
		intent := o.stay(fmt.Sprintf("soaking, %s left", left.Round(time.Second)), Intent{Wait: min(left, soakWait(m))})
		intent.HealthySince, intent.Marks, intent.Outcomes = since, marks, o.setBack(marks)
		return intent
	}
	return o.soaked(m)
}

// soakWait spreads the reads of a large wave: at most about 50 objects a second.
func soakWait(m members) time.Duration {
	return max(soakPoll, time.Duration(len(m.verified))*20*time.Millisecond)
}

// soaked settles the wave's targets and lets the next step choose what follows.
func (o Observation) soaked(m members) Intent {
	var done, marks []Mark
	for _, i := range m.verified {
		if c := o.Targets[i].Check; c.lost() {
			marks = append(marks, lost(i, c))
			continue
		}
		done = append(done, Mark{Target: i, State: v1alpha1.TargetDone})
	}
	intent := o.enter(v1alpha1.PhaseApplying, fmt.Sprintf("%d targets verified and soaked", len(done)))
	intent.Outcomes = o.setBack(marks)
	intent.Marks = append(marks, done...)
	if len(done) > 0 {
		first := o.Targets[done[0].Target].Object
		intent.Outcomes = append(intent.Outcomes, Outcome{Type: OutcomeSucceeded, Count: int32(len(done)), Namespaces: o.namespaces(done),
			Key: o.key(fmt.Sprintf("w%d/%s/%s/ok", o.Status.Wave, first.Namespace, first.Name)), Message: intent.Message})
	}
	return intent
}

// verified marks the targets whose check passed, or whose earlier pass is gone;
// it returns those that still wait. A target that wasn't looked at waits.
func (o Observation) verified(m members) (marks []Mark, waiting []int) {
	for _, i := range append(append([]int{}, m.applied...), m.verified...) {
		t := o.Targets[i]
		switch {
		case t.Check.lost():
			marks = append(marks, lost(i, t.Check))
		case t.Check != nil && t.Check.Result == CheckPassed:
			if t.State != v1alpha1.TargetVerified {
				marks = append(marks, Mark{Target: i, State: v1alpha1.TargetVerified})
			}
		case t.Check == nil && t.State == v1alpha1.TargetVerified && o.Status.Phase == v1alpha1.PhaseVerifying:
			// An earlier batch of this wave: it is looked at while soaking.
		default:
			if t.State == v1alpha1.TargetVerified {
				marks = append(marks, Mark{Target: i, State: v1alpha1.TargetApplied})
			}
			waiting = append(waiting, i)
		}
	}
	return marks, waiting
}

// lost says whether nothing of our write is left to verify.
func (c *Check) lost() bool {
	return c != nil && (c.Result == CheckGone || c.Result == CheckSetBack)
}

func lost(target int, c *Check) Mark {
	if c.Result == CheckSetBack {
		return Mark{Target: target, State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonFighting, Message: c.Message}
	}
	return Mark{Target: target, State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonGone, Message: c.Message}
}

// setBack are the outcomes of targets that somebody else set back. One is a
// stubborn neighbour; several in a row are a tool that manages the fleet, and the
// breakers must stop what would change every object twice for nothing.
func (o Observation) setBack(marks []Mark) []Outcome {
	var out []Outcome
	for _, m := range marks {
		if m.State == v1alpha1.TargetFailed && m.Reason == v1alpha1.ReasonFighting {
			out = append(out, Outcome{Type: OutcomeFailed, Count: 1, Namespaces: o.namespaces([]Mark{m}), Message: m.Message,
				Key: o.key("setback/" + o.Targets[m.Target].Object.UID)})
		}
	}
	return out
}

// failures are the written targets that failed their check or their deadline.
func (o Observation) failures(m members) []Mark {
	var failed []Mark
	for _, i := range append(append([]int{}, m.applied...), m.verified...) {
		t := o.Targets[i]
		switch {
		case t.Check != nil && t.Check.Result == CheckFailed:
			failed = append(failed, Mark{Target: i, State: t.State, Reason: t.Check.Reason, Message: t.Check.Message})
		case t.Check == nil || t.Check.Result == CheckWaiting:
			if message, late := o.overdue(t); late {
				failed = append(failed, Mark{Target: i, State: t.State, Reason: v1alpha1.ReasonDeadline, Message: message})
			}
		}
	}
	return failed
}

// overdue says whether a target that isn't verified has used up its time: the
// progress deadline since its write or since the soak broke, and a few times
// deadline plus soak since the wave's last write, so that a wave can't flap for
// ever. In the soak the deadline doesn't count: the target was verified until
// now, however long the soak has taken, and its time begins when the soak breaks.
func (o Observation) overdue(t TargetView) (string, bool) {
	if t.State == v1alpha1.TargetVerified && t.Check == nil || t.AppliedAt.IsZero() {
		return "", false
	}
	deadline := o.Spec.Strategy.ProgressDeadline.Duration
	since := t.AppliedAt
	if o.Status.PhaseStartedAt != nil && o.Status.PhaseStartedAt.After(since) {
		since = o.Status.PhaseStartedAt.Time
	}
	saw := "nothing could be observed"
	if t.Check != nil {
		saw = t.Check.Message
	}
	if o.Status.Phase == v1alpha1.PhaseVerifying && o.Now.Sub(since) > deadline {
		return fmt.Sprintf("not verified within %s: %s", deadline, saw), true
	}
	if limit := flapFactor * (deadline + o.soak()); o.Now.Sub(o.lastWrite()) > limit {
		return fmt.Sprintf("kept flapping for %s: %s", limit, saw), true
	}
	return "", false
}

// lastWrite is when the last write of the wave reached its object.
func (o Observation) lastWrite() time.Time {
	var last time.Time
	for _, t := range o.Targets {
		if t.Wave == o.Status.Wave && t.AppliedAt.After(last) {
			last = t.AppliedAt
		}
	}
	return last
}

// soak is the soak time of the wave at work.
func (o Observation) soak() time.Duration {
	if o.Status.Wave == 0 && o.Spec.Strategy.Canary.Soak != nil {
		return o.Spec.Strategy.Canary.Soak.Duration
	}
	return o.Spec.Strategy.Soak.Duration
}

func (o Observation) checkMessage(target int) string {
	if c := o.Targets[target].Check; c != nil {
		return c.Message
	}
	return "not looked at yet"
}
