// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// byPlans says what the policy's plans are to do with an object that nothing keeps off them.
func (e *Explanation) byPlans(v Verdict) string {
	if v.Override != "" {
		return "no write of its plans begins: " + v.Override
	}
	if i := slices.IndexFunc(e.Plans, func(t Touch) bool { return t.Policy == v.Policy && t.SameObject }); i >= 0 {
		return e.byPlan(e.Plans[i], v)
	}
	return e.unplanned(v)
}

// byPlan says what the policy's latest plan that holds the object is to do.
func (e *Explanation) byPlan(t Touch, v Verdict) string {
	if working(t.Phase) && (t.State == v1alpha1.TargetPending || inFlight(t.State)) {
		return e.atWork(t, v) + limited(t)
	}
	switch {
	case t.Reason == v1alpha1.ReasonFighting:
		return afterFight(t)
	case t.State == v1alpha1.TargetReverted:
		return fmt.Sprintf("nothing until the policy changes or somebody says: evenkeel rollout retry %[1]s (plan "+
			"%[1]s was undone: %[2]s)", t.Plan, t.waits)
	case t.State == v1alpha1.TargetFailed:
		return afterFailure(t)
	case t.Reason == v1alpha1.ReasonNotAttempted && t.Phase == v1alpha1.PhaseSuperseded,
		t.Reason == v1alpha1.ReasonOptOut: // nothing keeps it off any more
		return e.unplanned(v)
	case t.Reason == v1alpha1.ReasonNotAttempted:
		return fmt.Sprintf("nothing until the policy changes or somebody says: evenkeel rollout retry %[1]s (plan "+
			"%[1]s ended before its turn: %[2]s)", t.Plan, t.waits)
	case t.State == v1alpha1.TargetSkipped:
		return fmt.Sprintf("plan %s skipped it (%s): %s", t.Plan, t.Reason, t.Message)
	default:
		return e.unplanned(v)
	}
}

// afterFight says what becomes of an object that was fixed and that somebody else set back:
// once, or again and again.
func afterFight(t Touch) string {
	if t.State != v1alpha1.TargetFailed {
		return fmt.Sprintf("left alone: somebody keeps reverting it; once that has ended: evenkeel rollout retry "+
			"%s%s", t.Plan, because(t))
	}
	when := "tried again by itself, less and less often; at once"
	if t.blocks {
		when = "nothing until the policy changes or, once the fight has ended, somebody says"
	}
	return fmt.Sprintf("it was fixed, and reverted in a fight: %s; %s: evenkeel rollout retry %s", t.Message, when,
		t.Plan)
}

// afterFailure says whether an object that a plan couldn't fix is tried again.
func afterFailure(t Touch) string {
	if t.blocks {
		return fmt.Sprintf("nothing until the policy changes or, once the cause is gone, somebody says: evenkeel "+
			"rollout retry %s (%s: %s)", t.Plan, t.Reason, t.Message)
	}
	return fmt.Sprintf("tried again by itself, less and less often; at once: evenkeel rollout retry %s (%s: %s)",
		t.Plan, t.Reason, t.Message)
}

// atWork says what a plan that is under way is to do with the object.
func (e *Explanation) atWork(t Touch, v Verdict) string {
	switch {
	case inFlight(t.State):
		return fmt.Sprintf("plan %s is writing or undoing it now: %s", t.Plan, t.waits)
	case t.Phase.Facts().AsksPerson:
		return fmt.Sprintf("waits for approval of %[1]s: evenkeel rollout approve %[1]s", t.Plan)
	case t.Phase.Facts().Holds:
		return fmt.Sprintf("plan %s is held: %s", t.Plan, t.waits)
	default:
		return e.behindBreakers(v, fmt.Sprintf("%s of plan %s will fix it", wave(t.Wave), t.Plan))
	}
}

// unplanned says what a policy will do that has no plan for the object yet.
func (e *Explanation) unplanned(v Verdict) string {
	will := map[v1alpha1.RemediationMode]string{
		v1alpha1.RemediationDryRun:    "the next plan tries the fix, and writes nothing: the policy's mode is DryRun",
		v1alpha1.RemediationManual:    "the next plan fixes it, once a person has approved it",
		v1alpha1.RemediationAutomatic: "the next plan fixes it",
	}[v.Mode]
	for _, t := range e.Plans {
		if t.Policy == v.Policy && working(t.Phase) {
			will += ", after plan " + t.Plan
			break
		}
	}
	return e.behindBreakers(v, will)
}

// behindBreakers adds the breakers that keep the policy from writing.
func (e *Explanation) behindBreakers(v Verdict, will string) string {
	for _, b := range e.Breakers {
		if b.policy == "" || b.policy == v.Policy {
			will += fmt.Sprintf("; breaker %s is %s, so no write begins", b.Name, b.State)
		}
	}
	return will
}

// limited tells what the administrator's flags have changed of what the policy asks for.
func limited(t Touch) string {
	text := ""
	for _, limit := range t.Limits {
		text += "; " + limit.String()
	}
	return text
}

func wave(n int32) string {
	if n == 0 {
		return "the canary"
	}
	return fmt.Sprintf("wave %d", n)
}

// working says whether a plan in this phase still does anything.
func working(phase v1alpha1.RemediationPhase) bool { return phase != "" && !phase.Final() }

func inFlight(state v1alpha1.TargetState) bool {
	return state == v1alpha1.TargetIntent || state == v1alpha1.TargetApplied || state == v1alpha1.TargetVerified
}
