// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// notifyBatch is how many objects that are left alone are looked at in a step.
const notifyBatch = 64

// skipReason are the next targets to be recorded without a write, and else how
// long to wait for the next try of one that an API error has put off.
func (p *pass) toSkip(now time.Time) (batch []int, wait time.Duration) {
	for i, view := range p.records.Views() {
		switch {
		case p.records.Target(i).SkipReason == "" || view.State != v1alpha1.TargetPending:
		case view.NextAttemptAt.After(now):
			if left := rollout.Until(now, view.NextAttemptAt); wait == 0 || left < wait {
				wait = left
			}
		case len(batch) < notifyBatch:
			batch = append(batch, i)
		}
	}
	return batch, wait
}

// observer finds out whose an object is, and writes nothing.
func (a *attempt) look(ctx context.Context) v1alpha1.TargetRecord {
	for _, step := range []check{readFresh, respectReach, respectOptOut, judgeAgain, respectOwnership} {
		if rec := step(ctx, a); rec != nil {
			return *rec
		}
	}
	if a.target.SkipReason == v1alpha1.ReasonFighting {
		return *a.propose(ctx, a.skipped(v1alpha1.ReasonFighting,
			"it was fixed again and again, and somebody keeps setting it back: the event on the object says who, and "+
				"how to go on"))
	}
	if a.target.SkipReason == v1alpha1.ReasonNamespaceFailed {
		return *a.skipped(v1alpha1.ReasonNamespaceFailed, "an earlier plan of this revision failed in this namespace, "+
			"and only there; the event PlanMade of this plan says which, and how to say to try again")
	}
	if a.target.SkipReason == v1alpha1.ReasonBreakerOpen {
		return *a.skipped(v1alpha1.ReasonBreakerOpen,
			"a circuit breaker kept this namespace back when the plan was made: a later plan takes the object up")
	}
	return *a.skipped(v1alpha1.ReasonReplanned,
		fmt.Sprintf("it was to be left alone (%s) when the plan was made, and may be fixed by now: the next plan does",
			a.target.SkipReason))
}

// leftToOwner says whether somebody else must fix an object, and is to be told.
// What a controller makes and the policy judges at its root is told of there.
func leftToOwner(rec *v1alpha1.TargetRecord) bool {
	return rec.Reason == v1alpha1.ReasonManaged || rec.Reason == v1alpha1.ReasonOwned && rec.Proposal != ""
}

// proposalNote is the note of an event that gives an owner the fix. The recorder
// cuts it to what an event holds.
func proposalNote(rec v1alpha1.TargetRecord) string {
	if rec.Proposal == "" {
		return rec.Message
	}
	return rec.Message + ". The fix, whole in the plan's slice:\n" + rec.Proposal
}
