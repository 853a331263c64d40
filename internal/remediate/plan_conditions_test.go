// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clocktesting "k8s.io/utils/clock/testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/kstatus"
)

// planState is a state of a plan: where it stands, and why.
type planState struct {
	name   string
	phase  v1alpha1.RemediationPhase
	reason string
	// change is what else is so.
	change func(*v1alpha1.Remediation)
	// stuck is why it can neither go on nor end.
	stuck string
}

// afterStep is a plan in mode Manual that was approved, and asks again after its canary.
func afterStep(rem *v1alpha1.Remediation) {
	withAnswer(v1alpha1.DecisionApprove)(rem)
	rem.Spec.Plan.Waves = []v1alpha1.PlannedWave{{Targets: 1, Approval: v1alpha1.ApprovalRequired}, {Targets: 1}}
	rem.Status.Wave = 1
}

func withAnswer(given v1alpha1.ApprovalDecision) func(*v1alpha1.Remediation) {
	return func(rem *v1alpha1.Remediation) {
		rem.Spec.Plan.Rollout.Mode = v1alpha1.RemediationManual
		if given != "" {
			rem.Status.Approval = &v1alpha1.ApprovalRecord{Decision: given, Approver: "ann"}
		}
	}
}

func heldFrom(phase v1alpha1.RemediationPhase) func(*v1alpha1.Remediation) {
	return func(rem *v1alpha1.Remediation) { rem.Status.HeldFrom = phase }
}

// atWork are states in which a plan goes on, or will by itself or as people have asked.
func atWork() []planState {
	return []planState{
		{name: "planned", phase: v1alpha1.PhasePlanned},
		{name: "previewing", phase: v1alpha1.PhasePreviewing, reason: v1alpha1.ReasonDryRun},
		{name: "applying", phase: v1alpha1.PhaseApplying, reason: v1alpha1.ReasonWaveInProgress},
		{name: "verifying", phase: v1alpha1.PhaseVerifying, reason: v1alpha1.ReasonWaveInProgress},
		{name: "soaking", phase: v1alpha1.PhaseSoaking, reason: v1alpha1.ReasonWaveInProgress},
		{name: "applying, after a person's yes",
			phase: v1alpha1.PhaseApplying, reason: v1alpha1.ReasonWaveInProgress,
			change: withAnswer(v1alpha1.DecisionApprove)},
		{name: "rolling back", phase: v1alpha1.PhaseRollingBack, reason: v1alpha1.ReasonVerificationFailed},
		{name: "undoing, as a person has asked", phase: v1alpha1.PhaseRollingBack, reason: v1alpha1.ReasonUndone},
		{name: "waits for room in a budget", phase: v1alpha1.PhaseApplying, reason: v1alpha1.ReasonBudgetSpent},
		{name: "waits for another plan to be done with an object",
			phase: v1alpha1.PhaseApplying, reason: v1alpha1.ReasonOtherPlan},
		{name: "waits for a maintenance window",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonOutsideWindow, change: heldFrom(v1alpha1.PhasePlanned)},
		{name: "waits for a freeze of the whole cluster to end",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonFrozen, change: heldFrom(v1alpha1.PhasePlanned)},
		{name: "waits for a breaker to close",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonBreakerOpen, change: heldFrom(v1alpha1.PhaseApplying)},
		{name: "waits for a breaker's error budget to be known",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonSLOUnknown},
		{name: "waits for metrics to answer",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonAnalysisInconclusive,
			change: heldFrom(v1alpha1.PhaseSoaking)},
		{name: "a person has paused it", phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonPaused},
		{name: "awaits a person's answer, as its policy asks",
			phase: v1alpha1.PhaseAwaitingApproval, reason: v1alpha1.ReasonAwaitingApproval, change: withAnswer("")},
		{name: "awaits a person's answer after a step, as its strategy asks",
			phase: v1alpha1.PhaseAwaitingApproval, reason: v1alpha1.ReasonAwaitingApproval, change: afterStep},
	}
}

// needsSomebody are states in which nothing goes on until a person acts.
func needsSomebody() []planState {
	return []planState{
		{name: "nobody has answered in time",
			phase: v1alpha1.PhaseAwaitingApproval, reason: v1alpha1.ReasonApprovalOverdue, change: withAnswer("")},
		{name: "the answer is to other changes",
			phase: v1alpha1.PhaseAwaitingApproval, reason: v1alpha1.ReasonProposalMismatch, change: withAnswer("")},
		{name: "who answered may not, or isn't recorded",
			phase: v1alpha1.PhaseAwaitingApproval, reason: v1alpha1.ReasonApproverRefused, change: withAnswer("")},
		{name: "held: its wave has failed (onFailure: Hold)",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonVerificationFailed,
			change: heldFrom(v1alpha1.PhaseVerifying)},
		{name: "held: the controller lacks permissions", phase: v1alpha1.PhaseHeld,
			reason: v1alpha1.ReasonMissingPermissions},
		{name: "held: a budget can't be read",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonStrategyInvalid},
		{name: "held: a maintenance window can't be read",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonStrategyInvalid},
		{name: "held: no maintenance window ever opens", phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonNoWindow},
		{name: "held: the file of freezes can't be read", phase: v1alpha1.PhaseHeld,
			reason: v1alpha1.ReasonFreezesUnreadable},
		{name: "held: nobody can tell some target's health",
			phase: v1alpha1.PhaseHeld, reason: v1alpha1.ReasonHealthUnknown},
		{name: "rolling back: a write couldn't be undone in 5 tries",
			phase: v1alpha1.PhaseRollingBack, reason: v1alpha1.ReasonVerificationFailed,
			stuck: v1alpha1.ReasonRollbackStuck},
		{name: "a record of it is gone",
			phase: v1alpha1.PhaseApplying, reason: v1alpha1.ReasonSliceMissing, stuck: v1alpha1.ReasonSliceMissing},
		{name: "it had succeeded, and can't be undone: a record of it is gone",
			phase: v1alpha1.PhaseSucceeded, reason: v1alpha1.ReasonSliceMissing, stuck: v1alpha1.ReasonSliceMissing},
	}
}

// atRest are states in which a plan has ended.
func atRest() []planState {
	failed := func(rem *v1alpha1.Remediation) { rem.Status.Counts.Failed = 2 }
	return []planState{
		{name: "succeeded", phase: v1alpha1.PhaseSucceeded, reason: v1alpha1.ReasonAllTargetsSettled},
		{name: "succeeded, after a person's yes",
			phase: v1alpha1.PhaseSucceeded, reason: v1alpha1.ReasonAllTargetsSettled,
			change: withAnswer(v1alpha1.DecisionApprove)},
		{name: "succeeded: all is left to its owners",
			phase: v1alpha1.PhaseSucceeded, reason: v1alpha1.ReasonOwnersNotified},
		{name: "succeeded: nothing was to be done",
			phase: v1alpha1.PhaseSucceeded, reason: v1alpha1.ReasonAllTargetsSettled},
		{name: "succeeded, but for some targets",
			phase: v1alpha1.PhaseSucceeded, reason: v1alpha1.ReasonSomeTargetsFailed, change: failed},
		{name: "previewed", phase: v1alpha1.PhasePreviewed, reason: v1alpha1.ReasonAllTargetsSettled},
		{name: "superseded: another plan takes its place",
			phase: v1alpha1.PhaseSuperseded, reason: v1alpha1.ReasonPolicyChanged},
		{name: "superseded before anybody had answered",
			phase: v1alpha1.PhaseSuperseded, reason: v1alpha1.ReasonPolicyChanged, change: withAnswer("")},
		{name: "aborted, as a person has asked", phase: v1alpha1.PhaseAborted, reason: v1alpha1.ReasonAborted},
		{name: "a person has rejected it",
			phase: v1alpha1.PhaseAborted, reason: v1alpha1.ReasonRejected,
			change: withAnswer(v1alpha1.DecisionReject)},
		{name: "rolled back, as a person has asked", phase: v1alpha1.PhaseRolledBack, reason: v1alpha1.ReasonUndone},
		{name: "rolled back: its wave has failed",
			phase: v1alpha1.PhaseRolledBack, reason: v1alpha1.ReasonVerificationFailed},
		{name: "rolled back: metrics spoke against it",
			phase: v1alpha1.PhaseRolledBack, reason: v1alpha1.ReasonAnalysisFailed},
		{name: "rolled back: its wave couldn't be observed",
			phase: v1alpha1.PhaseRolledBack, reason: v1alpha1.ReasonNoAnswer},
		{name: "some write couldn't be undone",
			phase: v1alpha1.PhaseRollbackIncomplete, reason: v1alpha1.ReasonVerificationFailed},
		{name: "aborted: no canary was healthy", phase: v1alpha1.PhaseAborted, reason: v1alpha1.ReasonNoHealthyCanary},
		{name: "aborted: no canary could be written",
			phase: v1alpha1.PhaseAborted, reason: v1alpha1.ReasonNoViableCanary},
		{name: "aborted: each canary was reverted by somebody else",
			phase: v1alpha1.PhaseAborted, reason: v1alpha1.ReasonLostToFights},
	}
}

func TestConditionsOfPlans(t *testing.T) {
	var states []kstatus.State[*v1alpha1.Remediation]
	for _, group := range [][]planState{atWork(), needsSomebody(), atRest()} {
		for _, s := range group {
			rem := &v1alpha1.Remediation{
				Status: v1alpha1.RemediationStatus{Phase: s.phase, Reason: s.reason, Message: "what is going on"}}
			if s.change != nil {
				s.change(rem)
			}
			set := func(rem *v1alpha1.Remediation, now time.Time) {
				c := &Controller{clock: clocktesting.NewFakePassiveClock(now)}
				c.setConditions(rem, s.stuck)
			}
			states = append(states, kstatus.State[*v1alpha1.Remediation]{Name: s.name, Object: rem, Set: set})
		}
	}
	kstatus.Table(t, *update, states)
}

// Every phase has a state, and every end is told: a later phase must say what it is to clients.
func TestEveryPhaseHasConditions(t *testing.T) {
	seen := map[v1alpha1.RemediationPhase]bool{}
	for _, group := range [][]planState{atWork(), needsSomebody(), atRest()} {
		for _, s := range group {
			seen[s.phase] = true
			rem := &v1alpha1.Remediation{Status: v1alpha1.RemediationStatus{Phase: s.phase, Reason: s.reason}}
			hold := planConditions(rem, s.stuck)
			complete := meta.IsStatusConditionTrue(hold, v1alpha1.ConditionComplete)
			ended := meta.IsStatusConditionTrue(hold, v1alpha1.ConditionEnded)
			if ended != s.phase.Final() || complete && !ended {
				t.Errorf("%s: Complete is %t, Ended %t", s.name, complete, ended)
			}
		}
	}
	for _, row := range rollout.Table() {
		for _, phase := range append(row.Next, row.Phase) {
			if !seen[phase] {
				t.Errorf("phase %s is in no state of the table", phase)
			}
		}
	}
}
