// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/prose"
)

// stepVerifying waits until every written target of the wave is clean and healthy.
func stepVerifying(o Observation) Intent {
	if o.Abort != "" {
		return o.undo(o.abortReason(), o.Abort)
	}
	m := o.Members(o.Status.Wave)
	if failed := o.failures(m); len(failed) > 0 {
		return o.fail(o.verificationFailed(failed))
	}
	marks, waiting := o.verified(m)
	written := len(m.Applied) + len(m.Verified)
	switch {
	case len(waiting) > 0:
		return o.stay(fmt.Sprintf("%d of %d verified; waiting for %s: %s", written-len(waiting), written,
			o.Targets[waiting[0]].Object.String(), o.checkMessage(waiting[0])), Intent{Marks: marks,
			Outcomes: o.setBack(marks), Wait: o.poll(verifyPoll, written)})
	case m.soon() && o.Open(), len(m.Intents) > 0:
		next := o.enter(v1alpha1.PhaseApplying, "batch verified; going on")
		next.Marks, next.Outcomes = marks, o.setBack(marks)
		return next
	default:
		next := o.enter(v1alpha1.PhaseSoaking, fmt.Sprintf("verified; soaking for %s", o.Soak()))
		next.Marks, next.Outcomes, next.HealthySince = marks, o.setBack(marks), o.Now
		return next
	}
}

// stepSoaking waits until the wave has stayed verified without a break, and
// until its metrics have said that it does no harm.
func stepSoaking(o Observation) Intent {
	if o.Abort != "" {
		return o.undo(o.abortReason(), o.Abort)
	}
	m := o.Members(o.Status.Wave)
	if failed := o.failures(m); len(failed) > 0 {
		return o.fail(o.verificationFailed(failed))
	}
	marks, waiting := o.verified(m)
	var next Intent
	switch {
	case len(waiting) > 0:
		next = o.enter(v1alpha1.PhaseVerifying, o.soakBroken(waiting[0]))
	case !m.Written():
		return o.soaked(m) // nothing is left that could do harm
	case o.verdict() == v1alpha1.AnalysisFailed:
		next = o.fail(o.analysisFailed(m))
	case o.verdict() == v1alpha1.AnalysisInconclusive:
		next = o.withoutAnswer(m)
	default:
		return o.soaking(m, marks)
	}
	next.Marks, next.Outcomes = append(next.Marks, marks...), append(next.Outcomes, o.setBack(marks)...)
	return next
}

// soaking waits for the time and for the metrics; then the wave is done.
func (o Observation) soaking(m Members, marks []Mark) Intent {
	since := o.Now
	if o.Status.HealthyTime != nil {
		since = o.Status.HealthyTime.Time
	}
	intent := Intent{}
	left := o.Soak() - o.Now.Sub(since)
	switch {
	case left > 0:
		intent = o.stay(fmt.Sprintf("soaking, %s left", left.Round(time.Second)),
			Intent{Wait: min(left, o.soakWait(m))})
	case o.verdict() == v1alpha1.AnalysisRunning:
		intent = o.stay("soaked; waiting for metrics: "+o.Analysis.Message, Intent{Wait: o.soakWait(m)})
	default:
		return o.soaked(m)
	}
	if o.verdict() == v1alpha1.AnalysisRunning {
		intent.Wait = max(min(intent.Wait, o.Analysis.Wait), MinWait)
	}
	intent.HealthySince, intent.Marks, intent.Outcomes = since, marks, o.setBack(marks)
	return intent
}

func (o Observation) soakBroken(target int) string {
	return fmt.Sprintf("soak broken by %s: %s", o.Targets[target].Object.String(), o.checkMessage(target))
}

// soakWait spreads the reads of a large wave: at most about 50 objects a second.
func (o Observation) soakWait(m Members) time.Duration {
	return max(o.poll(soakPoll, len(m.Verified)), time.Duration(len(m.Verified))*readEvery)
}

// WaveDone reports whether a step ends the soak of a wave whose targets are all settled.
func (o Observation) WaveDone(next Intent) bool {
	return o.Status.Phase == v1alpha1.PhaseSoaking && next.Phase == v1alpha1.PhaseApplying
}

// soaked settles the wave's targets and lets the next step choose what follows.
func (o Observation) soaked(m Members) Intent {
	var done, marks []Mark
	for _, i := range m.Verified {
		if c := o.Targets[i].Check; c.lost() {
			marks = append(marks, lost(i, c))
			continue
		}
		done = append(done, Mark{Target: i, State: v1alpha1.TargetDone})
	}
	intent := o.enter(v1alpha1.PhaseApplying, prose.Count(len(done), "target")+" verified and soaked")
	intent.Outcomes = o.setBack(marks)
	intent.Marks = append(marks, done...)
	intent.Anew = len(m.next) > 0 // the rest of the wave is verified, soaked and measured like one of its own
	if len(done) > 0 {
		first := o.Targets[done[0].Target].Object
		intent.Outcomes = append(intent.Outcomes,
			Outcome{Type: circuit.TargetSucceeded, Count: int32(len(done)), Namespaces: o.namespaces(done),
				Key:     o.Key(fmt.Sprintf("w%d/%s/%s/ok", o.Status.Wave, first.Namespace, first.Name)),
				Message: intent.Message})
	}
	return intent
}

// verified marks the targets whose check passed, or whose earlier pass is gone;
// it returns those that still wait. A target that wasn't looked at waits.
func (o Observation) verified(m Members) (marks []Mark, waiting []int) {
	for _, i := range append(append([]int{}, m.Applied...), m.Verified...) {
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
	return Mark{Target: target, State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonVanished, Message: c.Message}
}

// setBack are the outcomes of targets that somebody else set back or took away.
// One is a stubborn neighbour; several in a row are a tool that manages the fleet,
// and the breakers must stop what would change every object twice for nothing.
func (o Observation) setBack(marks []Mark) []Outcome {
	keys := map[string]string{v1alpha1.ReasonFighting: "setback/", v1alpha1.ReasonVanished: "vanished/"}
	var out []Outcome
	for _, m := range marks {
		if key := keys[m.Reason]; key != "" && m.State == v1alpha1.TargetFailed {
			out = append(out, Outcome{Type: circuit.TargetFailed, Count: 1, Namespaces: o.namespaces([]Mark{m}),
				Message: m.Message,
				Key:     o.Key(key + o.Targets[m.Target].Object.UID)})
		}
	}
	return out
}
