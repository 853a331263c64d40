// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"fmt"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// next says what happens next, policy by policy. The first reason that holds is
// the one that counts.
func (e *Explanation) next() {
	e.Next = []string{}
	for _, v := range e.Policies {
		if v.Verdict != Clean {
			e.Next = append(e.Next, v.Policy+": "+e.after(v))
		}
	}
	if len(e.Next) == 0 {
		e.Next = append(e.Next, e.nothing())
	}
	e.Next = append(e.Next, e.choices()...)
}

// choices are what the object's owner can do about the last change that stands; nothing of an
// opt-out that is there.
func (e *Explanation) choices() []string {
	for _, t := range e.Plans {
		if !t.SameObject || t.At == nil || t.UndoneAt != nil || working(t.Phase) {
			continue
		}
		out := []string{fmt.Sprintf("to undo all that plan %[1]s changed: evenkeel rollout undo %[1]s", t.Plan)}
		if e.OptOut == "" {
			out = append(out, "to keep remediation off this object from now on: "+e.Object.OptOutCommand())
		}
		return out
	}
	return nil
}

// nothing says why nothing happens to an object that no policy finds fault with.
func (e *Explanation) nothing() string {
	for _, t := range e.Plans {
		if t.SameObject && working(t.Phase) && inFlight(t.State) {
			return fmt.Sprintf("plan %s has fixed it, and watches it: %s", t.Plan, t.waits)
		}
	}
	if len(e.Owners) > 0 {
		root := e.Owners[len(e.Owners)-1]
		return "nothing here: a workload is judged and fixed at its root: " + explainCommand(root)
	}
	switch {
	case e.PoliciesUnknown:
		return "not known: the policies couldn't be read"
	case len(e.Policies) == 0:
		return "nothing: no policy concerns it"
	}
	return "nothing: it violates no policy"
}

// after says what happens after a verdict.
func (e *Explanation) after(v Verdict) string {
	switch {
	case v.Verdict == Unjudged:
		return "nothing until the policy can judge it: fix its Rego"
	case v.Verdict == Waived:
		return "nothing until " + v.WaivedUntil.UTC().Format(time.RFC3339) + ", when its waiver ends"
	case v.Unresolved != "":
		return "nothing: " + v.Unresolved
	case v.Mode == v1alpha1.RemediationDisabled:
		return "nothing: the policy's mode is Disabled"
	case v.Fix == "":
		return "nothing: the policy offers no fix for it; fix it by hand"
	}
	if why := e.untouched(v); why != "" {
		return why
	}
	if v.Override != "" {
		return "no write of its plans begins: " + v.Override
	}
	if i := slices.IndexFunc(e.Plans, func(t Touch) bool { return t.Policy == v.Policy && t.SameObject }); i >= 0 {
		return e.byPlan(e.Plans[i], v)
	}
	return e.unplanned(v)
}

// untouched says why the object itself keeps fixes away; empty when it doesn't.
func (e *Explanation) untouched(v Verdict) string {
	switch {
	case e.Deleting != "":
		return "nothing: the object is being deleted; it counts until it is gone, and waits for " + e.Deleting
	case e.OptOut != "":
		return "skipped: " + e.OptOut
	case len(e.Owners) > 0:
		return e.atOwner()
	case e.ManagedBy != "" && v.Managed != v1alpha1.ManagedRemediate:
		return "skipped: managed by " + e.ManagedBy + "; change it at its source"
	default:
		return ""
	}
}

// atOwner says that an object is fixed where it comes from.
func (e *Explanation) atOwner() string {
	root := e.Owners[len(e.Owners)-1]
	if e.ManagedBy != "" {
		return fmt.Sprintf("skipped: it comes from %s %s, which is managed by %s; change it at its source", root.Kind,
			root.Name, e.ManagedBy)
	}
	return fmt.Sprintf("fixed at its root owner, %s %s: %s", root.Kind, root.Name, explainCommand(root))
}

// explainCommand is the command that explains an object, wherever the caller's context
// points to.
func explainCommand(o v1alpha1.ObjectReference) string {
	command := fmt.Sprintf("evenkeel explain %s/%s", o.Kind, o.Name)
	if o.Namespace != "" {
		command += " -n " + o.Namespace
	}
	return command
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
		return fmt.Sprintf("left alone: somebody keeps setting it back; once that has ended: evenkeel rollout retry "+
			"%s%s", t.Plan, because(t))
	}
	when := "tried again by itself, less and less often; at once"
	if t.blocks {
		when = "nothing until the policy changes or, once the fight has ended, somebody says"
	}
	return fmt.Sprintf("it was fixed, and set back in a fight: %s; %s: evenkeel rollout retry %s", t.Message, when,
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
	case t.Phase == v1alpha1.PhaseAwaitingApproval:
		return fmt.Sprintf("waits for approval of %[1]s: evenkeel rollout approve %[1]s", t.Plan)
	case t.Phase == v1alpha1.PhaseHeld:
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
