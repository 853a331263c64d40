// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// budgetPatience is how long verified targets wait for the rest of their wave
	// to get room in a budget, until they begin to soak without it.
	budgetPatience = 30 * time.Second
)

// stepApplying writes the wave, maxInFlight targets at a time, each batch
// verified before the next.
func stepApplying(o Observation) Intent {
	m := o.Members(o.Status.Wave)
	switch {
	case len(m.Intents) > 0:
		return o.resolving(m)
	case o.Abort != "":
		return o.abort()
	case o.Stop != "" && !m.Written():
		return o.superseded()
	case m.Pending() && !m.Written():
		return o.firstBatch(m)
	default:
		return o.nextBatch(m)
	}
}

// firstBatch begins writes while nothing of the wave is under way: that is when
// the plan can be held, and when metrics can be asked how things stand without it.
func (o Observation) firstBatch(m Members) Intent {
	if o.unapproved() {
		next := o.enter(v1alpha1.PhaseAwaitingApproval, "a person must answer: evenkeel rollout approve, or reject")
		next.Reason = v1alpha1.ReasonAwaitingApproval
		return next
	}
	if gate := o.shut(m); gate.Closed {
		return o.held(gate)
	}
	if left := o.leftBehind(m); len(left) > 0 {
		return o.stay(fmt.Sprintf("going on without %s: %s", prose.Count(len(left), "target"), left[0].Message),
			Intent{Marks: left})
	}
	if o.BaselineMissing() {
		return o.stay("asking metrics how things stand before the first write",
			Intent{Wait: max(o.Analysis.Wait, MinWait)})
	}
	return o.nextBatch(m)
}

func (o Observation) nextBatch(m Members) Intent {
	room := min(int(o.Spec.Plan.Rollout.MaxInFlight)-len(m.Applied), len(m.Ready))
	switch {
	case room > 0 && o.Open():
		return o.stay(fmt.Sprintf("writing %d of %d", room, m.total), Intent{Write: m.Ready[:room]})
	case m.toVerify(o.Open()):
		return o.enter(v1alpha1.PhaseVerifying,
			fmt.Sprintf("verifying %d of %d", len(m.Applied)+len(m.Verified), m.total))
	case len(m.full) > 0:
		return o.waits(m)
	case len(m.later) > 0:
		return o.stay(o.waitsFor(m), Intent{Wait: Until(o.Now, m.nextTry)})
	default:
		return o.afterWave(m)
	}
}

// waits waits for room, or for other plans to be done with an object. What is
// verified already soaks meanwhile, when that is long in coming: it must not stay
// without anybody looking at it, nor keep other plans waiting for its objects.
func (o Observation) waits(m Members) Intent {
	first := o.Targets[m.full[0]]
	if m.Written() && o.Status.PhaseStartTime != nil && o.Now.Sub(o.Status.PhaseStartTime.Time) >= budgetPatience {
		next := o.enter(v1alpha1.PhaseSoaking,
			fmt.Sprintf("%s; soaking what is verified for %s", o.noneNow(first), o.Soak()))
		next.HealthySince = o.Now
		return next
	}
	intent := o.stay(fmt.Sprintf("%s %s for room: %s", prose.Count(len(m.full), "target"),
		prose.Verb(len(m.full), "waits", "wait"), first.Barred),
		Intent{Wait: o.poll(roomPoll, len(m.full))})
	intent.Reason = first.BarredReason
	if first.BarredReason == v1alpha1.ReasonOtherPlan {
		intent.Message = fmt.Sprintf("%s: %s %s: %s: %s", o.Label(o.Status.Wave),
			prose.Count(len(m.full), "target"), prose.Verb(len(m.full), "waits", "wait"), first.Object.String(),
			first.Barred)
		intent.Wait = o.poll(claimPoll, len(m.full))
	}
	for _, i := range m.full {
		if t := o.Targets[i]; t.BarredReason == v1alpha1.ReasonOtherPlan && t.Reason != t.BarredReason &&
			t.Reason != v1alpha1.ReasonUnhealthyBefore {
			intent.Marks = append(intent.Marks,
				Mark{Target: i, State: v1alpha1.TargetPending, Reason: t.BarredReason, Message: t.Barred})
		}
	}
	return intent
}

// noneNow says why the rest of a wave isn't written for now.
func (o Observation) noneNow(t TargetView) string {
	if t.BarredReason == v1alpha1.ReasonOtherPlan {
		return "other plans have the rest of the wave in work"
	}
	return "no room in the budgets for the rest of the wave"
}

// resolving finds out about recorded writes; one that waits for another try
// holds up the wave, for nothing else may be said of it.
func (o Observation) resolving(m Members) Intent {
	var now []int
	for _, i := range m.Intents {
		if !o.Targets[i].NextAttemptAt.After(o.Now) {
			now = append(now, i)
		}
	}
	if i, lost := o.unfound(m); lost && len(now) == 0 {
		return o.notFound(i)
	}
	if len(now) == 0 {
		return o.stay("waiting to find out whether a write has happened", Intent{Wait: Until(o.Now, m.nextTry)})
	}
	return o.stay("finding out whether a recorded write has happened", Intent{Resolve: now})
}

// afterWave goes on when no target of the wave is left to write, verify or soak.
// A stage whose canary proved nothing begins no wave, and neither does the next.
func (o Observation) afterWave(m Members) Intent {
	next, found := o.nextWave()
	here := canary.StageOf(o.Spec.Plan, o.Status.Wave)
	proved := o.DoneIn(here)
	cut := o.cutShort()
	if !proved && found && here.Holds(next) {
		return o.anotherCanary(m, here)
	}
	switch {
	case !proved && (len(m.failed) > 0 || cut != ""):
		return o.noCanary(m) // every target was tried as the canary, and none proved anything
	case o.unverified():
		return o.ended(v1alpha1.PhaseAborted, v1alpha1.ReasonUnverified,
			o.Label(o.Status.Wave)+": all that was written has been reverted or taken away by others, so that nothing "+
				"was verified; nothing more is begun"+o.lastFight(o.fights(m.failed)))
	case cut != "":
		return o.ended(v1alpha1.PhaseSuperseded, v1alpha1.ReasonPolicyChanged, cut)
	case !found:
		return o.succeeded()
	case here.Holds(next):
		return o.enterWave(next)
	default:
		return o.enterWave(canary.StageOf(o.Spec.Plan, next).First)
	}
}

// cutShort is why an end has been begun: its marks were persisted, but the phase
// wasn't, for the controller died between the two. Empty: none has.
func (o Observation) cutShort() string {
	for _, t := range o.Targets {
		if t.State == v1alpha1.TargetSkipped && t.Reason == v1alpha1.ReasonNotAttempted {
			return "the plan had been stopped when the controller was interrupted; a new plan follows"
		}
	}
	return ""
}

// enterWave begins a wave.
func (o Observation) enterWave(wave int32) Intent {
	m := o.Members(wave)
	return Intent{Phase: v1alpha1.PhaseApplying, Wave: wave, Reason: v1alpha1.ReasonWaveInProgress,
		Message: fmt.Sprintf("%s: beginning with %s", o.Label(wave), prose.Count(m.total, "target"))}
}

// anotherCanary draws the stage's next targets into its canary when no canary
// could be written: without a verified canary, no wave may begin.
func (o Observation) anotherCanary(m Members, here canary.Stage) Intent {
	candidates := o.candidates(here)
	if len(candidates) == 0 || len(m.failed) >= v1alpha1.MaxCanaryFailures || o.tried(m, here) >= maxCandidates {
		return o.noCanary(m)
	}
	wave := o.Status.Wave
	var marks []Mark
	for _, i := range atMost(candidates, o.Spec.Plan.Waves[here.First].Targets) {
		marks = append(marks, Mark{Target: i, State: v1alpha1.TargetPending, Wave: &wave})
	}
	return o.stay(fmt.Sprintf("%s; drawing %s into the canary", o.noCanaryYet(m),
		o.Targets[marks[0].Target].Object.String()),
		Intent{Marks: marks})
}

func (o Observation) noCanary(m Members) Intent {
	var failedIn []string
	reason, message := v1alpha1.ReasonNoHealthyCanary, "no target that may be a canary is healthy enough to be one"
	if tried := o.tried(m, canary.StageOf(o.Spec.Plan, o.Status.Wave)); tried >= maxCandidates {
		reason = v1alpha1.ReasonNoViableCanary
		message = fmt.Sprintf(
			"%d candidates in a row came to nothing, and no more are drawn: see their reasons in the slices", tried)
	}
	if len(m.failed) > 0 {
		reason, failedIn = v1alpha1.ReasonNoViableCanary, o.atFault(m)
		message = o.cameToNothing(m.failed) + ", " + o.lastCandidate(m.failed)
		if 2*len(o.fights(m.failed)) > len(m.failed) {
			reason = v1alpha1.ReasonLostToFights
		}
		if against := o.againstFix(m); against < len(m.failed) && against < v1alpha1.MaxCanaryFailures {
			reason = v1alpha1.ReasonNoAnswer
			last := o.Targets[m.failed[len(m.failed)-1]]
			message = fmt.Sprintf("%s, %d of them for reasons that say nothing of the fix, the last, %s: %s; another "+
				"plan is made by itself", o.cameToNothing(m.failed), len(m.failed)-against, last.Object.String(),
				last.Reason)
		}
	}
	if done := o.Count(v1alpha1.TargetDone); done > 0 {
		message = fmt.Sprintf("%s: %s; %s of earlier stages %s fixed", o.Label(o.Status.Wave), message,
			prose.Count(done, "target"), prose.Verb(done, "stays", "stay"))
	}
	intent := o.ended(v1alpha1.PhaseAborted, reason, message)
	intent.FailedIn = failedIn
	return intent
}

// atFault are the namespaces that a canary is blamed on which couldn't be had.
func (o Observation) atFault(m Members) []string {
	failed := map[string]int{}
	for _, i := range m.failed {
		failed[o.Targets[i].Object.Namespace]++
	}
	in := circuit.Fault(failed)
	return in[:min(len(in), maxFailedIn)]
}

// remedy says what to do about a fix that can't be written.
func remedy(reason string) string {
	if reason == v1alpha1.ReasonNotAllowed {
		return "the policy's allowedActions or the manager's flags let no fix do that (evenkeel explain says what); " +
			"once it is allowed: evenkeel rollout retry"
	}
	return "check the policy's fix"
}

// againstFix is how many of the failed targets speak against the fix.
func (o Observation) againstFix(m Members) int {
	n := 0
	for _, i := range m.failed {
		if circuit.SpeaksOfFix(o.Targets[i].Reason) {
			n++
		}
	}
	return n
}

// succeeded ends the plan when every target is settled.
func (o Observation) succeeded() Intent {
	done, failed := o.Count(v1alpha1.TargetDone), o.Count(v1alpha1.TargetFailed)
	intent := Intent{Phase: v1alpha1.PhaseSucceeded, Wave: o.Status.Wave, Reason: v1alpha1.ReasonAllTargetsSettled,
		Message: fmt.Sprintf("%d of %s fixed and verified", done, prose.Count(len(o.Targets), "target"))}
	switch {
	case failed > 0:
		intent.Reason = v1alpha1.ReasonSomeTargetsFailed
		intent.Message += o.notFixed()
	case done == 0 && o.leftToOwners() > 0:
		intent.Reason = v1alpha1.ReasonOwnersNotified
		intent.Message = fmt.Sprintf("%d of %s %s left to their owners: the slices hold each fix as a diff",
			o.leftToOwners(), prose.Count(len(o.Targets), "object"), prose.Verb(o.leftToOwners(), "is", "are"))
	}
	if done > 0 {
		intent.Outcomes = []Outcome{
			{Type: circuit.PlanSucceeded, Key: o.Key("plan"), Count: 1, Namespaces: o.fixed(), Message: intent.Message}}
	}
	return intent
}

// stay keeps the phase and wave.
func (o Observation) stay(message string, intent Intent) Intent {
	intent.Phase, intent.Wave, intent.Reason = o.Status.Phase, o.Status.Wave, v1alpha1.ReasonWaveInProgress
	intent.Message = o.Label(o.Status.Wave) + ": " + message
	return intent
}

// enter goes to another phase of the same wave.
func (o Observation) enter(phase v1alpha1.RemediationPhase, message string) Intent {
	intent := o.stay(message, Intent{})
	intent.Phase = phase
	return intent
}

// MinWait is the shortest wait: zero would mean at once.
const MinWait = 10 * time.Millisecond

// Until is the time from now to t, at least a little.
func Until(now, t time.Time) time.Duration { return max(t.Sub(now), MinWait) }
