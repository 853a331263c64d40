// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// Look finds out whose an object is, and writes nothing.
func (a *Attempt) Look(ctx context.Context) v1alpha1.TargetRecord {
	for _, step := range []Check{ReadFresh, RespectReach, RespectOptOut, JudgeAgain, RespectOwnership} {
		if rec := step(ctx, a); rec != nil {
			return *rec
		}
	}
	if a.Target.SkipReason == v1alpha1.ReasonFighting {
		return *a.propose(ctx, a.Skipped(v1alpha1.ReasonFighting,
			"it was fixed again and again, and somebody keeps reverting it (it was last written by "+
				kube.OtherManager(a.Object, v1alpha1.FieldManager)+"): the event on the object says how to go on"))
	}
	if a.Target.SkipReason == v1alpha1.ReasonNamespaceFailed {
		return *a.Skipped(v1alpha1.ReasonNamespaceFailed, "an earlier plan of this revision failed in this namespace, "+
			"and only there; the event PlanMade of this plan says which, and how to say to try again")
	}
	if a.Target.SkipReason == v1alpha1.ReasonBreakerOpen {
		return *a.Skipped(v1alpha1.ReasonBreakerOpen,
			"a circuit breaker kept this namespace back when the plan was made: a later plan takes the object up")
	}
	return *a.Skipped(v1alpha1.ReasonReplanned,
		fmt.Sprintf("it was to be left alone (%s) when the plan was made, and may be fixed by now: the next plan does",
			a.Target.SkipReason))
}

// LeftToOwner says whether somebody else must fix an object, and is to be told.
// What a controller makes and the policy judges at its root is told of there.
func LeftToOwner(rec *v1alpha1.TargetRecord) bool {
	return rec.Reason == v1alpha1.ReasonManaged || rec.Reason == v1alpha1.ReasonOwned && rec.Proposal != ""
}

// ProposalNote is the note of an event that gives an owner the fix. The recorder
// cuts it to what an event holds.
func ProposalNote(rec v1alpha1.TargetRecord) string {
	if rec.Proposal == "" {
		return rec.Message
	}
	return rec.Message + ". The fix, whole in the plan's slice:\n" + rec.Proposal
}
