// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// stepHeld looks whether what the plan waits for has come.
func stepHeld(o Observation) Intent {
	switch o.Status.HeldFrom {
	case v1alpha1.PhaseVerifying:
		return o.heldAfterFailure()
	case v1alpha1.PhaseSoaking:
		return o.heldWithoutAnswer()
	case v1alpha1.PhaseApplying:
		return o.heldBetweenWrites()
	default:
		return o.heldBeforeAll()
	}
}

// held waits for the gate. Nothing of the plan is in flight.
func (o Observation) held(gate Gate) Intent {
	from := o.Status.HeldFrom
	switch o.Status.Phase {
	case v1alpha1.PhaseHeld:
	case v1alpha1.PhaseApplying:
		from = v1alpha1.PhaseApplying
	default:
		from = v1alpha1.PhasePlanned
	}
	return Intent{Phase: v1alpha1.PhaseHeld, Wave: o.Status.Wave, Reason: gate.Reason, Message: gate.Message,
		HeldFrom: from, Wait: o.untilResumed(o.poll(holdPoll, heldLooks))}
}

// untilResumed is a wait that ends with a person's pause at the latest.
func (o Observation) untilResumed(wait time.Duration) time.Duration {
	if o.Spec.PausedUntilTime != nil && o.Spec.Paused(o.Now) {
		return min(wait, o.Spec.PausedUntilTime.Sub(o.Now))
	}
	return wait
}

// heldBeforeAll: the plan hasn't begun. An approval that is gone is asked for again.
func (o Observation) heldBeforeAll() Intent {
	switch {
	case o.Abort != "":
		return o.abort()
	case o.Stop != "":
		return o.superseded()
	case o.Gate.Closed:
		return o.held(o.Gate)
	default:
		return o.release(v1alpha1.PhasePlanned)
	}
}

// heldBetweenWrites: what was written is done, and what isn't hasn't been begun.
func (o Observation) heldBetweenWrites() Intent {
	m := o.Members(o.Status.Wave)
	gate := o.shut(m)
	switch {
	case o.Abort != "":
		return o.abort()
	case m.Written() || len(m.Intents) > 0: // a write has arrived after all
		return o.release(v1alpha1.PhaseApplying)
	case o.Stop != "":
		return o.superseded()
	case gate.Closed:
		return o.held(gate)
	default:
		return o.release(v1alpha1.PhaseApplying)
	}
}

// heldAfterFailure: the wave failed, and nothing is undone until a person
// decides (onFailure: Hold). A plan that is stopped undoes it: nobody could
// later, and a wave that failed is never left behind unnoticed.
func (o Observation) heldAfterFailure() Intent {
	switch {
	case o.Abort != "":
		return o.abort()
	case o.Stop != "":
		return o.undo(o.Status.Reason, fmt.Sprintf("%s, and the wave that is held has failed", o.Stop))
	case o.Spec.RetryToken != "" && o.Spec.RetryToken != o.Status.LastHandledRetryToken:
		next := o.enter(v1alpha1.PhaseVerifying, o.retrier()+" asks to verify it once more")
		next.Anew, next.Retry = true, o.Spec.RetryToken
		return next
	default:
		return Intent{Phase: v1alpha1.PhaseHeld, Wave: o.Status.Wave, Reason: o.Status.Reason,
			Message:  o.Status.Message,
			HeldFrom: v1alpha1.PhaseVerifying, Wait: o.poll(holdPoll, heldLooks)}
	}
}

// retrier is who asks to verify a wave once more.
func (o Observation) retrier() string {
	if asked := v1alpha1.TokenRequest(o.Requests, v1alpha1.ActionRetry, o.Spec.RetryToken); asked != nil {
		return asked.User
	}
	return "a person"
}

// heldWithoutAnswer: the wave is verified, but its metrics give no answer. Its
// health is looked at as in a soak, and harm is undone at once.
func (o Observation) heldWithoutAnswer() Intent {
	m := o.Members(o.Status.Wave)
	marks, waiting := o.verified(m)
	failed := o.failures(m)
	next := Intent{}
	switch {
	case o.Abort != "":
		return o.abort()
	case len(failed) > 0:
		return o.fail(o.verificationFailed(failed))
	case o.Stop != "":
		return o.undo(o.Status.Reason, fmt.Sprintf("%s, and metrics haven't said whether the wave does harm", o.Stop))
	case len(waiting) > 0:
		next = o.enter(v1alpha1.PhaseVerifying, o.soakBroken(waiting[0]))
		next.Anew = true
	case o.verdict() == v1alpha1.AnalysisInconclusive && m.Written():
		next = o.withoutAnswer(m)
	default: // a verdict of harm is acted upon there
		next = o.enter(v1alpha1.PhaseSoaking, fmt.Sprintf("metrics answer again; soaking again for %s", o.Soak()))
		next.Anew, next.HealthySince = true, o.Now
	}
	next.Marks, next.Outcomes = marks, o.setBack(marks)
	return next
}

// withoutAnswer holds a verified wave until metrics answer.
func (o Observation) withoutAnswer(m Members) Intent {
	return Intent{Phase: v1alpha1.PhaseHeld, Wave: o.Status.Wave, Reason: v1alpha1.ReasonAnalysisInconclusive,
		Message:  o.Label(o.Status.Wave) + ": metrics give no answer, which is never a pass: " + o.Analysis.Message,
		HeldFrom: v1alpha1.PhaseSoaking, Wait: o.soakWait(m)}
}

func (o Observation) release(to v1alpha1.RemediationPhase) Intent {
	return Intent{Phase: to, Wave: o.Status.Wave, Reason: v1alpha1.ReasonWaveInProgress,
		Message: "the hold has ended; going on with " + o.Label(o.Status.Wave)}
}
