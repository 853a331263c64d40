// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestStepPlanned(t *testing.T) {

	answered := func(d v1alpha1.ApprovalDecision) func(*Observation) {
		return func(o *Observation) {
			o.Approval = Approval{Needed: true, Decision: d, Message: "ada says so"}
		}
	}
	runSteps(t, map[string]step{
		"a new plan begins": {
			reason: "an empty phase is Planned", in: situation("", 0, target(0, pending)),
			want: "Applying w0 WaveInProgress: canary: beginning"},
		"a person ends it first": {
			reason: "nothing has been written", in: situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given: func(o *Observation) { o.Abort, o.Stop = "ada ends it", "the policy has changed" },
			want:  "Aborted w0 Aborted: ada ends it | mark 0 Skipped NotAttempted: ada ends it"},
		"its policy changes": {
			reason: "what was planned isn't asked for any more",
			in:     situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given:  func(o *Observation) { o.Stop = "the policy has changed" },
			want: "Superseded w0 PolicyChanged: the policy has changed | mark 0 Skipped NotAttempted: the policy has " +
				"changed"},
		"its policy is deleted": {
			reason: "the reason is the one that was given", in: situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given: func(o *Observation) { o.Stop, o.StopReason = "the policy is gone", "PolicyDeleted" },
			want:  "Superseded w0 PolicyDeleted: the policy is gone | mark 0 Skipped NotAttempted: the policy is gone"},
		"a dry run": {
			reason: "it goes its own way", in: situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given: func(o *Observation) { o.Spec.Plan.Rollout.Mode = v1alpha1.RemediationDryRun },
			want:  "Previewing w0 DryRun: trying every fix as a server-side dry run"},
		"all is left to owners": {
			reason: "there is nothing to approve or to wait for",
			in: situation(v1alpha1.PhasePlanned, 0, target(0, skipped, because(v1alpha1.ReasonManaged)),
				target(1, skipped, because(v1alpha1.ReasonOwned)), target(1, skipped, because(v1alpha1.ReasonOptOut))),
			given: answered(""),
			want: "Succeeded w0 OwnersNotified: 2 of 3 objects are left to their owners: the slices hold each fix as " +
				"a diff"},
		"all opted out": {
			reason: "nobody is told of a fix",
			in:     situation(v1alpha1.PhasePlanned, 0, target(0, skipped, because(v1alpha1.ReasonOptOut))),
			want:   "Succeeded w0 AllTargetsSettled: 0 of 1 target fixed and verified"},
		"nobody has answered": {
			reason: "it asks", in: situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given: answered(""), want: "AwaitingApproval w0 AwaitingApproval: ada says so | wait 5s"},
		"nobody has answered in time": {
			reason: "it asks on, and says so", in: situation(v1alpha1.PhaseAwaitingApproval, 0, target(0, pending)),
			given: func(o *Observation) {
				o.Approval = Approval{Needed: true, Overdue: true,
					Message: "how to answer"}
			}, want: "AwaitingApproval w0 ApprovalOverdue: how to answer | wait 5s"},
		"it is approved": {
			reason: "it begins", in: situation(v1alpha1.PhaseAwaitingApproval, 0, target(0, pending)),
			given: answered(v1alpha1.DecisionApprove), want: "Applying w0 WaveInProgress: canary: beginning"},
		"it is rejected": {
			reason: "it ends without a write",
			in:     situation(v1alpha1.PhaseAwaitingApproval, 0, target(0, pending), target(1, skipped)),
			given:  answered(v1alpha1.DecisionReject),
			want:   "Aborted w0 Rejected: ada says so | mark 0 Skipped NotAttempted: ada says so"},
		"a later wave is approved": {
			reason: "it begins where it stopped; the gates are asked there",
			in:     situation(v1alpha1.PhaseAwaitingApproval, 1, target(0, done), target(1, pending)),
			given:  all(answered(v1alpha1.DecisionApprove), func(o *Observation) { o.Gate.Closed = true }),
			want:   "Applying w1 WaveInProgress: wave 1 of 2: approved; beginning"},
		"a later wave is rejected": {
			reason: "what is fixed stays", given: answered(v1alpha1.DecisionReject),
			in:   situation(v1alpha1.PhaseAwaitingApproval, 1, target(0, done), target(1, pending)),
			want: "Aborted w1 Rejected: ada says so | mark 1 Skipped NotAttempted: ada says so"},
		"an answer that nobody needs": {
			reason: "only a plan in mode Manual asks", in: situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given: func(o *Observation) { o.Approval.Decision = v1alpha1.DecisionReject },
			want:  "Applying w0 WaveInProgress: canary: beginning"},
		"a person ends it while it asks": {
			reason: "nobody needs to answer", in: situation(v1alpha1.PhaseAwaitingApproval, 0, target(0, pending)),
			given: func(o *Observation) { o.Abort = "ada ends it" },
			want:  "Aborted w0 Aborted: ada ends it | mark 0 Skipped NotAttempted: ada ends it"},
		"its policy changes while it asks": {
			reason: "nobody needs to answer", in: situation(v1alpha1.PhaseAwaitingApproval, 0, target(0, pending)),
			given: func(o *Observation) { o.Stop = "the policy has changed" },
			want: "Superseded w0 PolicyChanged: the policy has changed | mark 0 Skipped NotAttempted: the policy has " +
				"changed"},
		"the gate is closed": {
			reason: "it is held before all", in: situation(v1alpha1.PhasePlanned, 0, target(0, pending)),
			given: func(o *Observation) {
				o.Gate = Gate{Closed: true, Reason: v1alpha1.ReasonPaused, Message: "ada has paused it"}
			},
			want: "Held w0 Paused: ada has paused it | from Planned | wait 5s"},
	})
}

func TestStepPreviewing(t *testing.T) {
	runSteps(t, map[string]step{
		"a batch at a time": {
			reason: "two may be in flight",
			in: situation(v1alpha1.PhasePreviewing, 0, target(0, v1alpha1.TargetPreviewed),
				target(0, pending), target(1, pending, again(time.Minute)), target(1, pending, again(0)),
				target(2, pending)),
			want: "Previewing w0 DryRun: trying every fix as a server-side dry run | preview [1 3]"},
		"the API server failed": {
			reason: "it waits for the next try",
			in: situation(v1alpha1.PhasePreviewing, 0, target(0, v1alpha1.TargetPreviewed),
				target(1, pending, again(time.Minute))),
			want: "Previewing w0 DryRun: the API server failed; trying again | wait 1m0s"},
		"all is tried": {
			reason: "it ends", in: situation(v1alpha1.PhasePreviewing, 0, target(0, v1alpha1.TargetPreviewed)),
			want: "Previewed w0 AllTargetsSettled: nothing was written; the slices hold each fix. Set " +
				"spec.remediation.mode: Automatic on the policy to roll it out"},
		"a person ends it": {
			reason: "there is nothing to undo", in: situation(v1alpha1.PhasePreviewing, 0, target(0, pending)),
			given: func(o *Observation) { o.Abort = "ada ends it" },
			want:  "Aborted w0 Aborted: ada ends it | mark 0 Skipped NotAttempted: ada ends it"},
		"its policy changes": {
			reason: "what it tries isn't asked for any more",
			in:     situation(v1alpha1.PhasePreviewing, 0, target(0, pending)),
			given:  func(o *Observation) { o.Stop = "the policy has changed" },
			want: "Superseded w0 PolicyChanged: the policy has changed | mark 0 Skipped NotAttempted: the policy has " +
				"changed"},
	})
}

func TestStepEnded(t *testing.T) {
	undone := func(o *Observation) { o.Spec.DesiredState, o.Abort = v1alpha1.StateUndone, "ada wants it undone" }
	told := func(o *Observation) { o.Status.Reason, o.Status.Message = v1alpha1.ReasonAllTargetsSettled, "1 of 1" }
	runSteps(t, map[string]step{
		"it rests": {
			reason: "nobody asks for anything",
			in:     situation(v1alpha1.PhaseSucceeded, 2, target(0, v1alpha1.TargetDone)),
			given:  told, want: "Succeeded w2 AllTargetsSettled: 1 of 1 | wait 5s"},
		"a person wants it undone": {
			reason: "what people take for harm must be undoable",
			in:     situation(v1alpha1.PhaseSucceeded, 2, target(0, v1alpha1.TargetDone)),
			given:  undone, want: "RollingBack w2 Undone: ada wants it undone; undoing all writes of the plan"},
		"a person wants undone what doesn't stand": {
			reason: "there is nothing to undo",
			in: situation(v1alpha1.PhaseSucceeded, 2, target(0, v1alpha1.TargetReverted),
				target(1, v1alpha1.TargetFailed)), given: undone, want: "Succeeded w2 :  | wait 5s"},
	})
}
