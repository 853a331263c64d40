// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// stepPlanned begins the rollout, asks for its approval, or holds it.
func stepPlanned(o Observation) Intent {
	switch {
	case o.Abort != "":
		return o.abort()
	case o.Stop != "":
		return o.superseded()
	case o.Spec.Plan.Rollout.Mode == v1alpha1.RemediationDryRun:
		return Intent{Phase: v1alpha1.PhasePreviewing, Reason: v1alpha1.ReasonDryRun,
			Message: "trying every fix as a server-side dry run"}
	case o.settled():
		return o.succeeded() // it is all left to its owners: nothing to approve or wait for
	default:
		return o.begin()
	}
}

// stepAwaitingApproval waits for a person's answer, however long it takes.
func stepAwaitingApproval(o Observation) Intent {
	switch {
	case o.Abort != "":
		return o.abort()
	case o.Stop != "":
		return o.superseded()
	default:
		return o.begin()
	}
}

// begin begins the first wave, or the one that waited for its approval, after a person's yes where one is needed.
func (o Observation) begin() Intent {
	switch {
	case o.Unanswered():
		return o.awaiting()
	case o.Approval.Needed && o.Approval.Decision == v1alpha1.DecisionReject:
		return o.ended(v1alpha1.PhaseAborted, v1alpha1.ReasonRejected, o.Approval.Message)
	case o.Status.Wave > 0:
		return o.enter(v1alpha1.PhaseApplying, "approved; beginning") // where the gates are asked
	case o.Gate.Closed:
		return o.held(o.Gate)
	default:
		return Intent{Phase: v1alpha1.PhaseApplying, Reason: v1alpha1.ReasonWaveInProgress,
			Message: "canary: beginning"}
	}
}

// Unanswered says whether a person's answer is needed and isn't there.
func (o Observation) Unanswered() bool {
	return o.Approval.Needed && o.Approval.Decision != v1alpha1.DecisionApprove &&
		o.Approval.Decision != v1alpha1.DecisionReject
}

func (o Observation) awaiting() Intent {
	intent := Intent{Phase: v1alpha1.PhaseAwaitingApproval, Wave: o.Status.Wave,
		Reason:  cmp.Or(o.Approval.Refused, v1alpha1.ReasonAwaitingApproval),
		Message: o.Approval.Message, Wait: o.poll(holdPoll, heldLooks)}
	if o.Approval.Overdue {
		intent.Reason = v1alpha1.ReasonApprovalOverdue
	}
	return intent
}

// stepPreviewing tries the fixes as dry runs, a few at a time, and writes nothing.
func stepPreviewing(o Observation) Intent {
	if o.Abort != "" {
		return o.abort()
	}
	if o.Stop != "" {
		return o.superseded()
	}
	var pending []int
	var wait time.Duration
	for i, t := range o.Targets {
		if t.State != v1alpha1.TargetPending {
			continue
		}
		if t.NextAttemptAt.After(o.Now) {
			wait = t.NextAttemptAt.Sub(o.Now)
			continue
		}
		pending = append(pending, i)
	}
	if len(pending) > 0 {
		return Intent{Phase: v1alpha1.PhasePreviewing, Reason: v1alpha1.ReasonDryRun,
			Preview: atMost(pending, o.Spec.Plan.Rollout.MaxInFlight),
			Message: "trying every fix as a server-side dry run"}
	}
	if wait > 0 {
		return Intent{Phase: v1alpha1.PhasePreviewing, Reason: v1alpha1.ReasonDryRun,
			Message: "the API server failed; trying again", Wait: wait}
	}
	return Intent{Phase: v1alpha1.PhasePreviewed, Reason: v1alpha1.ReasonAllTargetsSettled,
		Message: "nothing was written; the slices hold each fix. Set spec.remediation.mode: Automatic on the policy " +
			"to roll it out"}
}

// superseded ends the plan: nothing is in flight, and nothing more is begun.
func (o Observation) superseded() Intent {
	return o.ended(v1alpha1.PhaseSuperseded, cmp.Or(o.StopReason, v1alpha1.ReasonPolicyChanged), o.Stop)
}

// ended ends a plan of which nothing is in flight; what was pending stays as it is.
func (o Observation) ended(phase v1alpha1.RemediationPhase, reason, message string) Intent {
	return Intent{Phase: phase, Wave: o.Status.Wave, Reason: reason, Message: message, Marks: o.notAttempted(message)}
}

func atMost(list []int, n int32) []int {
	return list[:min(len(list), int(n))]
}
