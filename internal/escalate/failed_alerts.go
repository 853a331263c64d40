// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// triedAgain is how long after a plan's end the targets that failed in it are
	// planned again at the earliest; it doubles with each plan in which they fail.
	triedAgain = 10 * time.Minute
	// triedAgainMax is the longest of these waits.
	triedAgainMax = 24 * time.Hour
)

// failedTargets: the plan ended, but some of its targets couldn't be fixed. They
// are tried again in later plans, so the latest plan in which any failed speaks
// for the policy until nothing violates, the policy changes, or a plan that was
// made late enough to hold them ended without a failure. While such a plan is
// awaited or under way, the alert goes on.
func failedTargets(w *world, plans []*v1alpha1.Remediation) (finding, bool) {
	i := lastFailing(plans)
	if i < 0 {
		return finding{}, false
	}
	p := w.plan(plans[i])
	if !p.stands() || fixedLater(plans, i) {
		return finding{}, false
	}
	violates, known := p.violating()
	if !violates {
		return finding{}, false
	}
	f := finding{alert: AlertRemediationFailedTargets, urgency: normal, since: p.Remediation.EndTime(), goesOn: true,
		summary: p.notFixed(),
		description: p.text("They still violate the policy. "+p.whatFollows(), p.whatToDo()+
			"; to try again at once: "+p.retryCommand())}
	if known && i == len(plans)-1 {
		f.due = f.since
	}
	return f, true
}

// notFixed tells the objects that failed: an object that was fixed and that somebody else set
// back is no object that couldn't be fixed.
func (p plan) notFixed() string {
	failed, of := p.Status.Counts.Failed, fmt.Sprintf("by plan %s of policy %s", p.Name, p.Spec.Plan.Policy.Name)
	switch fights := int32(p.evidence.SetBack); {
	case fights == 0:
		return fmt.Sprintf("%s couldn't be fixed %s", prose.Count(failed, "object"), of)
	case fights >= failed:
		return fmt.Sprintf("%s %s fixed %s, and reverted in a fight", prose.Count(failed, "object"),
			prose.Verb(failed, "was", "were"), of)
	default:
		return fmt.Sprintf("%s couldn't be fixed %s, and %d %s fixed and reverted in a fight",
			prose.Count(failed-fights, "object"), of, fights, prose.Verb(fights, "was", "were"))
	}
}

func (p plan) whatToDo() string {
	if p.evidence.SetBack == 0 {
		return "see the reason of each object"
	}
	return "see the reason of each object; of one in a fight it names the field manager that reverted it: fix the " +
		"source that this takes the object from"
}

// whatFollows says truly whether a plan that ended is made again by itself.
func (p plan) whatFollows() string {
	switch {
	case p.Status.BlocksReplanning() && int32(p.evidence.SetBack) >= p.Status.Counts.Failed:
		return "This revision isn't tried again by itself: every candidate was reverted by somebody else."
	case p.Status.BlocksReplanning() && p.Status.Reason == v1alpha1.ReasonLostToFights:
		return "This revision isn't tried again by itself: most candidates were reverted by somebody else."
	case p.Status.BlocksReplanning():
		return "This revision isn't tried again by itself: the fix failed on every candidate."
	case p.Status.Reason == v1alpha1.ReasonNoAnswer:
		return "Errors that say nothing of the fix ended the plan: another is made by itself, after a minute at " +
			"first and later each time."
	default:
		return "They are tried again by themselves, less and less often."
	}
}

// lastEnded is the latest plan that has ended, or the first when none has.
func lastEnded(plans []*v1alpha1.Remediation) int {
	i := len(plans) - 1
	for i > 0 && !plans[i].IsFinal() {
		i--
	}
	return i
}

// lastFailing is the latest ended plan in which targets failed, or -1. A dry run
// and a plan that a person ended say nothing of the fix.
func lastFailing(plans []*v1alpha1.Remediation) int {
	for i := len(plans) - 1; i >= 0; i-- {
		if failing(plans[i]) {
			return i
		}
	}
	return -1
}

func failing(rem *v1alpha1.Remediation) bool {
	byPerson := rem.Status.Reason == v1alpha1.ReasonAborted || rem.Status.Reason == v1alpha1.ReasonRejected
	phase := rem.Status.Phase
	return rem.Status.Counts.Failed > 0 && !byPerson &&
		(phase == v1alpha1.PhaseSucceeded || phase == v1alpha1.PhaseAborted)
}

// fixedLater says whether a plan after the one at index, made when its failed
// targets were due again, ended without a failure.
func fixedLater(plans []*v1alpha1.Remediation, index int) bool {
	failures := 0
	for _, rem := range plans[:index] {
		if failing(rem) && rem.Spec.Plan.Policy.Revision == plans[index].Spec.Plan.Policy.Revision {
			failures++
		}
	}
	due := plans[index].EndTime().Add(min(triedAgain<<min(failures, 10), triedAgainMax))
	if plans[index].Status.Reason == v1alpha1.ReasonNoAnswer {
		due = plans[index].EndTime() // the next plan holds them
	}
	due = due.Truncate(time.Second) // as the API server tells creation
	for _, rem := range plans[index+1:] {
		if rem.Status.Phase == v1alpha1.PhaseSucceeded && !rem.CreationTimestamp.Time.Before(due) {
			return true
		}
	}
	return false
}

// leftToOwners: what violates is in other hands: another tool manages it, or keeps
// setting it back. The last plan that ended says so; while a later one is at
// work, the alert goes on.
func leftToOwners(w *world, plans []*v1alpha1.Remediation) (finding, bool) {
	i := lastEnded(plans)
	p := w.plan(plans[i])
	if p.Status.Phase != v1alpha1.PhaseSucceeded || p.Status.Counts.Skipped == 0 || !p.stands() {
		return finding{}, false
	}
	violates, known := p.violating()
	_, read := w.evidence[p.Name]
	if !violates || read && p.evidence.Left == 0 {
		return finding{}, false
	}
	f := finding{alert: AlertManagedByOther, urgency: calm, since: p.Remediation.EndTime(), goesOn: true,
		summary: fmt.Sprintf("%s %s policy %s and %s left to their owners",
			prose.Count(p.evidence.Left, "object"), prose.Verb(p.evidence.Left, "violates", "violate"),
			p.Spec.Plan.Policy.Name, prose.Verb(p.evidence.Left, "is", "are")),
		description: p.text("Another tool manages them or keeps reverting them, so Evenkeel leaves them alone.",
			"put the fix into the source that the tool takes them from")}
	if p.evidence.Fights > 0 {
		f.urgency = normal
	}
	if known && read && i == len(plans)-1 {
		f.due = f.since
	}
	return f, true
}
