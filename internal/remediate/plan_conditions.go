// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/approval"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// setConditions puts into a plan's conditions what its status says, and of which generation. stuck
// is the reason why the plan can neither go on nor end; empty: it can.
func (c *Controller) setConditions(rem *v1alpha1.Remediation, stuck string) {
	kube.SetConditions(rem, c.clock.Now(), planConditions(rem, stuck)...)
}

// tellAtRest has a plan that has ended say so of what people have asked of it since. Nothing
// else of it changes.
func (c *Controller) tellAtRest(ctx context.Context, rem *v1alpha1.Remediation) error {
	if rem.DeletionTimestamp != nil {
		return nil
	}
	before := rem.DeepCopy()
	kube.SetConditions(rem, c.clock.Now(), planConditions(rem, "")...)
	if equality.Semantic.DeepEqual(before.Status, rem.Status) {
		return nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(c.client.Status().Patch(ctx, rem, patch, client.FieldOwner(v1alpha1.FieldManager)))
}

// planConditions are the conditions of a plan. docs/reference/conditions.md has the table.
func planConditions(rem *v1alpha1.Remediation, stuck string) []metav1.Condition {
	s := &rem.Status
	reason, progress := orPhase(s.Reason, s.Phase), metav1.ConditionFalse
	var hold []metav1.Condition
	switch {
	case stuck != "":
		reason = stuck
		hold = kube.Stalled(reason, s.Message)
	case s.Phase.Final() && s.Succeeded():
		hold = kube.Ready(reason, s.Message)
	case s.Phase.Final() || needsPerson(s):
		hold = kube.Stalled(reason, s.Message)
	default:
		hold = kube.Underway(reason, s.Message)
		if !waits(s) {
			progress = metav1.ConditionTrue
		}
	}
	progressing := metav1.Condition{Type: v1alpha1.ConditionProgressing, Status: progress, Reason: reason,
		Message: s.Message}
	return slices.Concat(hold, []metav1.Condition{progressing}, approvalTold(rem), endTold(s, stuck))
}

// refused are the reasons of a plan whose answer doesn't count.
func refused() []string {
	return []string{v1alpha1.ReasonProposalMismatch, v1alpha1.ReasonApproverRefused}
}

// needsPerson says whether a plan that hasn't ended goes on only when a person acts: nobody
// has answered in time, or the answer doesn't count, its wave has failed, or it waits for what nobody but a person
// fixes.
func needsPerson(s *v1alpha1.RemediationStatus) bool {
	lasting := []string{
		v1alpha1.ReasonMissingPermissions, v1alpha1.ReasonStrategyInvalid, v1alpha1.ReasonNoWindow,
		v1alpha1.ReasonHealthUnknown, v1alpha1.ReasonFreezesUnreadable,
	}
	facts := s.Phase.Facts()
	return facts.AsksPerson && slices.Contains(append(refused(), v1alpha1.ReasonApprovalOverdue), s.Reason) ||
		s.WaveFailed() ||
		facts.Holds && slices.Contains(lasting, s.Reason)
}

// waits says whether nothing of a plan is in work, for it waits.
func waits(s *v1alpha1.RemediationStatus) bool {
	full := s.Reason == v1alpha1.ReasonBudgetSpent || s.Reason == v1alpha1.ReasonOtherPlan
	facts := s.Phase.Facts()
	return facts.Waits || facts.Writes && full
}

// approvalTold is what people have said of a plan that a person must approve, or its wave.
func approvalTold(rem *v1alpha1.Remediation) []metav1.Condition {
	s := &rem.Status
	var c metav1.Condition
	_, awaits := rem.AwaitsApproval()
	switch given := s.Approval; {
	case !awaits && given == nil:
		return nil
	case !awaits && given.Decision == v1alpha1.DecisionApprove:
		c = kube.ConditionTrue(v1alpha1.ConditionApproved, v1alpha1.ReasonApproved, approval.Describe(given))
	case !awaits:
		c = kube.ConditionFalse(v1alpha1.ConditionApproved, v1alpha1.ReasonRejected, approval.Describe(given))
	case s.Phase.Final():
		c = kube.ConditionFalse(v1alpha1.ConditionApproved, v1alpha1.ReasonNotAnswered,
			"the plan ended before anybody had answered")
	case slices.Contains(refused(), s.Reason):
		c = kube.ConditionFalse(v1alpha1.ConditionApproved, s.Reason, s.Message)
	case s.Reason == v1alpha1.ReasonApprovalOverdue:
		c = kube.ConditionFalse(v1alpha1.ConditionApproved, v1alpha1.ReasonApprovalOverdue,
			"nobody has answered in time")
	default:
		c = kube.ConditionFalse(v1alpha1.ConditionApproved, v1alpha1.ReasonAwaitingApproval, "a person must answer")
	}
	return []metav1.Condition{c}
}

// endTold is Ended once the plan has ended, and Complete if it went through all its waves.
func endTold(s *v1alpha1.RemediationStatus, stuck string) []metav1.Condition {
	if !s.Phase.Final() {
		return nil
	}
	reason, message := orPhase(s.Reason, s.Phase), s.Message
	if stuck != "" {
		reason, message = string(s.Phase), "" // what is told now is of the undo
	}
	ended := []metav1.Condition{kube.ConditionTrue(v1alpha1.ConditionEnded, reason, message)}
	if s.Phase.Facts().Complete {
		ended = append(ended, kube.ConditionTrue(v1alpha1.ConditionComplete, reason, message))
	}
	return ended
}

// setHeldSince keeps since when the plan has waited for something that may need
// a person, whatever that was in turn.
func setHeldSince(s *v1alpha1.RemediationStatus, intent rollout.Intent, now *metav1.MicroTime) {
	facts := s.Phase.Facts()
	waits := intent.Stuck || facts.Waits || facts.Incomplete
	switch {
	case !waits:
		s.HeldTime = nil
	case s.HeldTime == nil:
		s.HeldTime = now
	}
}

func orPhase(reason string, phase v1alpha1.RemediationPhase) string {
	if reason != "" {
		return reason
	}
	return string(phase)
}
