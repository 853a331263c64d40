// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// One object is in work for one plan at a time: two plans that change it at once
// would restart it twice, and each would be blamed for what the other did. What
// other plans have in work is read anew from their slices before each batch, as
// budgets do it, and under the same lock: two plans that look at the same time
// never take the same object. Nothing else is kept, so that a crash forgets nothing.
//
// A plan that waits keeps what it has verified no longer than that soaks (see
// rollout's waits), so that two plans never wait for each other for ever.

// InWork says whether a plan has an object in work: a write that was decided, or
// that has happened and hasn't soaked, or its undoing.
func InWork(rem *v1alpha1.Remediation, rec *v1alpha1.TargetRecord) bool {
	switch rec.State {
	case v1alpha1.TargetIntent, v1alpha1.TargetApplied, v1alpha1.TargetVerified:
		return true
	case v1alpha1.TargetDone:
		return rem.Status.Phase.Facts().Undoing() &&
			(rem.Spec.WantsUndone() || rem.Spec.Plan.Rollout.RollbackScope == v1alpha1.RollbackAll)
	case v1alpha1.TargetPending:
		return record.MayLand(rec) // a write whose answer was lost may still reach the object
	case v1alpha1.TargetPreviewed, v1alpha1.TargetSkipped, v1alpha1.TargetFailed, v1alpha1.TargetReverted,
		v1alpha1.TargetRevertConflict:
	}
	return rec.Recovering
}

// joinPatience is how long a plan that begins to write waits for another that is about
// to, so that an object of both is written once.
const joinPatience = 3 * time.Second

// aboutToBegin says whether a plan may begin to write at any moment: it is new, or what
// held it before a write may have passed.
func aboutToBegin(rem *v1alpha1.Remediation, now time.Time) bool {
	if rem.DeletionTimestamp != nil || rem.Spec.Paused(now) ||
		!rem.Spec.Plan.Rollout.Mode.Runs() {
		return false
	}
	if !rem.Phase().Facts().Holds {
		return rem.Phase() == v1alpha1.PhasePlanned
	}
	return rem.Status.HeldFrom == v1alpha1.PhasePlanned || rem.Status.HeldFrom.Facts().Writes
}

// patient says whether a plan has begun to write so lately that it waits for others.
func patient(rem *v1alpha1.Remediation, now time.Time) bool {
	since := rem.Status.PhaseStartTime
	return rem.Status.Phase.Facts().Writes && since != nil && now.Sub(since.Time) < joinPatience
}

// claimed are the objects that other plans have in work, or are about to write, by UID
// with what a target waits for.
func (b *Budgets) claimed(ctx context.Context, own *v1alpha1.Remediation, now time.Time) (map[string]string, error) {
	list := &v1alpha1.RemediationList{}
	if err := b.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the plans in progress: %w", err)
	}
	claims := map[string]string{}
	for i := range list.Items {
		rem := &list.Items[i]
		begins := aboutToBegin(rem, now) && patient(own, now)
		if rem.Name == own.Name || !MayHaveWritten(rem) && !begins {
			continue
		}
		if err := b.claim(ctx, claims, rem, begins); err != nil {
			return nil, err
		}
	}
	for plan, taken := range b.reserved {
		for uid := range taken {
			if plan != own.Name {
				claims[uid] = ClaimedBy(plan)
			}
		}
	}
	return claims, nil
}

// claim adds the objects that a plan has in work, and those that it is about to write
// if it begins.
func (b *Budgets) claim(ctx context.Context, claims map[string]string, rem *v1alpha1.Remediation, begins bool) error {
	other, err := b.records.Read(ctx, rem)
	if record.Unreadable(err) {
		return nil // it neither writes nor ends until a person acts
	}
	if err != nil {
		return fmt.Errorf("look what plan %s has in work: %w", rem.Name, err)
	}
	views := other.Views()
	for n := range other.Places {
		uid, view := other.Target(n).Object.UID, views[n]
		switch {
		case InWork(rem, other.Record(n)):
			claims[uid] = ClaimedBy(rem.Name)
		case begins && view.State == v1alpha1.TargetPending && view.Wave == rem.Status.Wave && claims[uid] == "":
			claims[uid] = fmt.Sprintf(
				"plan %s is about to change the object too: waiting up to %s to write it once for both", rem.Name,
				joinPatience)
		}
	}
	return nil
}

// ClaimedBy tells why a target waits.
func ClaimedBy(plan string) string {
	return fmt.Sprintf("plan %s has the object in work: one plan at a time changes an object", plan)
}
