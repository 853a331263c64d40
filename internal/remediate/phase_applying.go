package remediate

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// maxCanaryFailures is how many candidates may fail before a write, one after
// the other, until the fix itself is held to be at fault.
const maxCanaryFailures = 10

// stepApplying writes the wave, maxConcurrent targets at a time, each batch
// verified before the next.
func stepApplying(o Observation) Intent {
	m := o.members(o.Status.Wave)
	room := min(int(o.Spec.Strategy.MaxConcurrent)-len(m.applied), len(m.ready))
	switch {
	case len(m.intents) > 0:
		return o.resolving(m)
	case o.Stop != "" && !m.written():
		return o.superseded()
	case len(m.ready) > 0 && o.Gate.Closed && !m.written():
		return o.held()
	case room > 0 && o.open():
		return o.stay(fmt.Sprintf("writing %d of %d", room, m.total), Intent{Write: m.ready[:room]})
	case m.toVerify(o.open()):
		return o.enter(v1alpha1.PhaseVerifying, fmt.Sprintf("verifying %d of %d", len(m.applied)+len(m.verified), m.total))
	case len(m.later) > 0:
		return o.stay("waiting to try again after an API error", Intent{Wait: until(o.Now, m.nextTry)})
	default:
		return o.afterWave(m)
	}
}

// resolving finds out about recorded writes; one that waits for another try
// holds up the wave, for nothing else may be said of it.
func (o Observation) resolving(m members) Intent {
	var now []int
	for _, i := range m.intents {
		if !o.Targets[i].NextAttemptAt.After(o.Now) {
			now = append(now, i)
		}
	}
	if len(now) == 0 {
		return o.stay("waiting to find out whether a write has happened", Intent{Wait: until(o.Now, m.nextTry)})
	}
	return o.stay("finding out whether a recorded write has happened", Intent{Resolve: now})
}

// afterWave goes on when no target of the wave is left to write, verify or soak.
func (o Observation) afterWave(m members) Intent {
	next, found := o.nextWave()
	switch {
	case !found && o.aborting():
		return o.noCanary(m)
	case !found && len(m.failed) > 0 && o.count(v1alpha1.TargetDone) == 0:
		return o.noCanary(m) // every target was tried as the canary, and none could be written
	case !found:
		return o.succeeded()
	case o.count(v1alpha1.TargetDone) == 0:
		return o.anotherCanary(m)
	default:
		return o.enterWave(next)
	}
}

// aborting says whether an abort has been begun: its marks were persisted, but
// the phase wasn't, for the controller died between the two.
func (o Observation) aborting() bool {
	return o.count(v1alpha1.TargetDone) == 0 && slices.ContainsFunc(o.Targets, func(t TargetView) bool {
		return t.State == v1alpha1.TargetSkipped && t.Reason == v1alpha1.ReasonNotAttempted
	})
}

// enterWave begins a wave.
func (o Observation) enterWave(wave int32) Intent {
	m := o.members(wave)
	return Intent{Phase: v1alpha1.PhaseApplying, Wave: wave, Reason: v1alpha1.ReasonWaveInProgress,
		Message: fmt.Sprintf("%s: beginning with %d targets", o.label(wave), m.total)}
}

// anotherCanary draws the next targets into the canary when no canary could be
// written: without a verified canary, no wave may begin.
func (o Observation) anotherCanary(m members) Intent {
	var candidates []int
	for i, t := range o.Targets {
		if t.Wave > o.Status.Wave && t.State == v1alpha1.TargetPending && t.Reason != v1alpha1.ReasonUnhealthyBefore {
			candidates = append(candidates, i)
		}
	}
	if len(candidates) == 0 || len(m.failed) >= maxCanaryFailures {
		return o.noCanary(m)
	}
	wave := o.Status.Wave
	var marks []Mark
	for _, i := range atMost(candidates, o.Spec.Waves[0]) {
		marks = append(marks, Mark{Target: i, State: v1alpha1.TargetPending, Wave: &wave})
	}
	return o.stay(fmt.Sprintf("no canary could be written yet; drawing %s into the canary", name(o.Targets[marks[0].Target].Object)),
		Intent{Marks: marks})
}

func (o Observation) noCanary(m members) Intent {
	reason, message := v1alpha1.ReasonNoHealthyCanary, "no target is healthy enough to be a canary"
	if len(m.failed) > 0 {
		reason = v1alpha1.ReasonNoViableCanary
		last := o.Targets[m.failed[len(m.failed)-1]]
		message = fmt.Sprintf("%d candidates in a row couldn't be written, the last, %s: %s; look at the policy's fix",
			len(m.failed), name(last.Object), last.Reason)
	}
	return Intent{Phase: v1alpha1.PhaseAborted, Wave: o.Status.Wave, Reason: reason,
		Message: message, Marks: o.notAttempted(message)}
}

// succeeded ends the plan when every target is settled.
func (o Observation) succeeded() Intent {
	done, failed := o.count(v1alpha1.TargetDone), o.count(v1alpha1.TargetFailed)
	intent := Intent{Phase: v1alpha1.PhaseSucceeded, Wave: o.Status.Wave, Reason: v1alpha1.ReasonAllTargetsSettled,
		Message: fmt.Sprintf("%d of %d targets mended and verified", done, len(o.Targets))}
	switch {
	case failed > 0:
		intent.Reason = v1alpha1.ReasonSomeTargetsFailed
		intent.Message += fmt.Sprintf("; %d couldn't be mended: see their reasons in the slices", failed)
	case done == 0 && o.leftToOwners() > 0:
		intent.Reason = v1alpha1.ReasonOwnersNotified
		intent.Message = fmt.Sprintf("%d of %d objects are left to their owners: the slices hold each fix as a diff", o.leftToOwners(), len(o.Targets))
	case done == 0:
		intent.Reason = v1alpha1.ReasonNothingToDo
	}
	if done > 0 {
		intent.Outcomes = []Outcome{{Type: OutcomePlanSucceeded, Key: o.key("plan"), Count: 1, Namespaces: o.mended(), Message: intent.Message}}
	}
	return intent
}

// stay keeps the phase and wave.
func (o Observation) stay(message string, intent Intent) Intent {
	intent.Phase, intent.Wave = o.Status.Phase, o.Status.Wave
	intent.Reason = v1alpha1.ReasonWaveInProgress
	intent.Message = o.label(o.Status.Wave) + ": " + message
	return intent
}

// enter goes to another phase of the same wave.
func (o Observation) enter(phase v1alpha1.RemediationPhase, message string) Intent {
	intent := o.stay(message, Intent{})
	intent.Phase = phase
	return intent
}

// until is the time from now to t, at least a little: zero would mean at once.
func until(now, t time.Time) time.Duration {
	return max(t.Sub(now), 10*time.Millisecond)
}
