// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/prose"
)

// plan is a policy's plan as an alert looks at it.
type plan struct {
	*v1alpha1.Remediation
	// policy is the plan's policy as it stands; nil when it is gone or was recreated.
	policy   *v1alpha1.ClusterRegoPolicy
	evidence Evidence
}

func (w *world) plan(rem *v1alpha1.Remediation) plan {
	p := plan{Remediation: rem, policy: w.policies[rem.Spec.Plan.Policy.Name], evidence: w.evidence[rem.Name]}
	if p.policy != nil && string(p.policy.UID) != rem.Spec.Plan.Policy.UID {
		p.policy = nil
	}
	return p
}

// stuck: the plan can't be read, or its rollback doesn't come to an end.
func stuck(p plan) (finding, bool) {
	f := finding{alert: AlertRemediationStuck, urgency: urgent,
		summary: fmt.Sprintf("Plan %s of policy %s can neither go on nor end", p.Name, p.Spec.Plan.Policy.Name),
		description: p.text("Objects may hold a fix that is being undone, or that nobody looks after.",
			"kubectl describe remediation "+p.Name)}
	unreadable := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionStalled)
	switch {
	case p.Remediation.IsFinal():
		return finding{}, false
	case unreadable != nil && unreadable.Status == metav1.ConditionTrue &&
		unreadable.Reason == v1alpha1.ReasonSliceMissing:
		f.since, f.due = unreadable.LastTransitionTime.Time, unreadable.LastTransitionTime.Time
	case p.Status.Phase == v1alpha1.PhaseRollingBack && p.Status.HeldTime != nil:
		f.since, f.due = p.Status.HeldTime.Time, p.Status.HeldTime.Time
	case p.Status.Phase == v1alpha1.PhaseRollingBack:
		f.since = p.phaseStart()
		if p.progressedAt().After(f.since) {
			f.since = p.progressedAt() // it keeps to budgets: slow isn't stuck
		}
		f.due = f.since.Add(p.deadline())
	default:
		return finding{}, false
	}
	return f, true
}

// rollbackIncomplete: objects hold values that neither the plan nor its rollback chose.
func rollbackIncomplete(p plan) (finding, bool) {
	if !p.Status.Phase.Facts().Incomplete || p.retried() {
		return finding{}, false
	}
	then := "fix the policy or say to try again: "
	if p.policy == nil {
		then = "end this alert, for the policy is gone: "
	}
	return finding{alert: AlertRollbackIncomplete, urgency: urgent, since: p.Remediation.EndTime(),
		due: p.Remediation.EndTime(),
		summary: fmt.Sprintf("%s couldn't be reverted after plan %s of policy %s failed",
			prose.Count(p.Status.Counts.RevertConflict, "object"), p.Name, p.Spec.Plan.Policy.Name),
		description: p.text("Somebody else changed the very fields that Evenkeel wrote; they were left as they are.",
			"decide with the objects' owners what the fields should hold and set them, then "+
				then+p.retryCommand())}, true
}

// rolledBack: the plan did harm, and its policy is blocked by it. One that a
// person had undone is that person's to know of.
func rolledBack(p plan) (finding, bool) {
	if p.Status.Phase != v1alpha1.PhaseRolledBack || p.Status.Reason == v1alpha1.ReasonUndone || !p.stands() {
		return finding{}, false
	}
	if p.Status.Reason == v1alpha1.ReasonNoAnswer {
		return finding{alert: AlertRemediationRolledBack, urgency: normal, since: p.Remediation.EndTime(),
			due: p.Remediation.EndTime(),
			summary: fmt.Sprintf("Plan %s of policy %s couldn't be observed at %s and was rolled back", p.Name,
				p.Spec.Plan.Policy.Name, p.wave()),
			description: p.text("The objects are as before, and their violations remain. Nothing speaks against the "+
				"fix: another plan is made by itself, after a minute at first and later each time.",
				"find out why the objects couldn't be read; to try again at once: "+p.retryCommand())}, true
	}
	what := "The objects are as before, their violations remain, and this revision isn't tried again by itself."
	if in := p.alone(); in != "" {
		what = fmt.Sprintf("The objects are as before. It failed in namespace %s alone: that one isn't tried again by "+
			"itself, and others go on.", in)
	}
	return finding{alert: AlertRemediationRolledBack, urgency: normal, since: p.Remediation.EndTime(),
		due: p.Remediation.EndTime(),
		summary: fmt.Sprintf("Plan %s of policy %s failed at %s and was rolled back", p.Name,
			p.Spec.Plan.Policy.Name, p.wave()),
		description: p.text(what, "fix the policy or exempt the object, or say to try again: "+p.retryCommand())}, true
}

// approvalOverdue: nobody has said yes or no in time.
func approvalOverdue(p plan) (finding, bool) {
	if !p.Status.Phase.Facts().AsksPerson {
		return finding{}, false
	}
	since, waiting := p.heldSince(), p.Spec.Plan.Targets
	if p.Status.Wave > 0 {
		waiting = p.Status.Counts.Pending
	}
	timeout := p.Spec.Plan.Rollout.ApprovalTimeout.Duration
	if timeout <= 0 {
		timeout = v1alpha1.DefaultApprovalTimeout
	}
	return finding{alert: AlertApprovalOverdue, urgency: normal, since: since, due: since.Add(timeout),
		summary: fmt.Sprintf("Plan %s of policy %s has waited for an approval for more than %s", p.Name,
			p.Spec.Plan.Policy.Name, timeout),
		description: p.text(fmt.Sprintf("%s %s until somebody answers.", prose.Count(waiting, "object"),
			prose.Verb(waiting, "stays as it is", "stay as they are")),
			fmt.Sprintf("review the plan, then evenkeel rollout approve %[1]s, or reject %[1]s", p.Name))}, true
}

// waveFailed: the plan's wave has failed (onFailure: Hold). It waits for a person alone, while objects
// hold what did harm: it waits for no deadline.
func waveFailed(p plan) (finding, bool) {
	if !p.Status.WaveFailed() {
		return finding{}, false
	}
	return finding{alert: AlertWaveFailed, urgency: urgent, since: p.heldSince(), due: p.heldSince(),
		summary: fmt.Sprintf("Plan %s of policy %s failed at %s and waits for a person", p.Name,
			p.Spec.Plan.Policy.Name, p.wave()),
		description: p.text(
			"The objects of this wave hold the fix that failed; nothing is undone until somebody decides.",
			fmt.Sprintf("undo it: evenkeel rollout abort %[1]s; or have it verified once more: "+
				"evenkeel rollout retry %[1]s", p.Name))}, true
}

// held: no write may begin, for longer than the policy bears. A plan that waits
// for its maintenance window, or for a freeze to end, waits by design. One that a person
// paused, or whose policy a person has overridden, is only called to mind.
func held(p plan) (finding, bool) {
	if !p.Status.Phase.Facts().Holds || p.Status.WaveFailed() || p.Status.Reason == v1alpha1.ReasonOutsideWindow ||
		p.Status.Reason == v1alpha1.ReasonFrozen {
		return finding{}, false
	}
	f := finding{alert: AlertRemediationHeld, urgency: normal, since: p.heldSince(),
		due: p.heldSince().Add(p.deadline()),
		summary: fmt.Sprintf("Plan %s of policy %s has been held for more than %s: %s", p.Name, p.Spec.Plan.Policy.Name,
			p.deadline(), p.Status.Reason),
		description: p.text(
			"Violations remain. What was fixed stays so, and the plan goes on by itself when the reason is gone.",
			"see the reason above, or give the plan up with spec.remediation.mode: Disabled")}
	if p.Status.Reason == v1alpha1.ReasonPaused || p.Status.Reason == v1alpha1.ReasonPolicyOverridden {
		f.urgency = calm
	}
	return f, true
}

// text is a description: what happened, what it means, the evidence, what to do.
func (p plan) text(meaning, do string) string {
	what := fmt.Sprintf("%s at %s", p.Phase(), p.wave())
	if p.Status.Reason != "" {
		what += fmt.Sprintf(" (%s)", p.Status.Reason)
	}
	what = prose.OneLine(what)
	if p.Status.Message != "" {
		what += ": " + said(p.Status.Message, maxStatus)
	}
	return paragraphs(what, meaning, p.evidence.String(), "What to do: "+do)
}

func (p plan) wave() string {
	label := canary.WaveLabel(p.Spec.Plan, p.Status.Wave)
	if canary.StageOf(p.Spec.Plan, p.Status.Wave).First == p.Status.Wave {
		return "the " + label
	}
	return "wave " + label
}

func (p plan) heldSince() time.Time {
	if p.Status.HeldTime != nil {
		return p.Status.HeldTime.Time
	}
	return p.phaseStart()
}

func (p plan) phaseStart() time.Time {
	if p.Status.PhaseStartTime != nil {
		return p.Status.PhaseStartTime.Time
	}
	return p.CreationTimestamp.Time
}

func (p plan) deadline() time.Duration {
	if d := p.Spec.Plan.Rollout.EscalationDeadline.Duration; d > 0 {
		return d
	}
	return v1alpha1.DefaultEscalationDeadline
}

// stands says whether the plan still speaks of its policy: the same revision is
// to be fixed, and nobody has said to try again.
func (p plan) stands() bool {
	return p.policy != nil && !p.retried() && p.policy.Spec.Remediation.Mode.Runs() &&
		p.policy.Status.Revision == p.Spec.Plan.Policy.Revision
}

// violating says whether the policy's scan is complete, and has found anything.
// A plan that fixed nothing is no more an alert once nothing violates.
func (p plan) violating() (violates, known bool) {
	scan := p.policy.Status.Scan
	known = scan != nil && scan.State == v1alpha1.ScanComplete
	return !known || scan.Violating > 0, known
}

// retried says whether a person has said to try this plan's revision again. Where its policy is gone
// nothing is tried, and the person wants the alert to end.
func (p plan) retried() bool { return p.RetryAsked() }

func (p plan) retryCommand() string {
	return "evenkeel rollout retry " + p.Name
}
