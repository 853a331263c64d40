package remediate

import (
	"context"
	"errors"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// One object is in work for one plan at a time: two plans that change it at once
// would restart it twice, and each would be blamed for what the other did. What
// other plans have in work is read anew from their slices before each batch, as
// budgets do it, and under the same lock: two plans that look at the same time
// never take the same object. Nothing else is kept, so that a crash forgets nothing.
//
// A plan that waits keeps what it has verified no longer than that soaks (see
// waits), so that two plans never wait for each other for ever.

// inWork says whether a plan has an object in work: a write that was decided, or
// that has happened and hasn't soaked, or its undoing.
func inWork(rem *v1alpha1.Remediation, rec *v1alpha1.TargetRecord) bool {
	switch rec.State {
	case v1alpha1.TargetIntent, v1alpha1.TargetApplied, v1alpha1.TargetVerified:
		return true
	case v1alpha1.TargetDone:
		return rem.Status.Phase == v1alpha1.PhaseRollingBack && (rem.Spec.Undo || rem.Spec.Strategy.RollbackScope == v1alpha1.RollbackAll)
	case v1alpha1.TargetPending, v1alpha1.TargetPreviewed, v1alpha1.TargetSkipped, v1alpha1.TargetFailed,
		v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
	}
	return rec.Recovering
}

// claimed are the objects that other plans have in work, or are about to write, with
// the plan's name, by UID.
func (b *budgets) claimed(ctx context.Context, p *pass) (map[string]string, error) {
	list := &v1alpha1.RemediationList{}
	if err := b.reader.List(ctx, list); err != nil {
		return nil, fmt.Errorf("list the plans at work: %w", err)
	}
	claims := map[string]string{}
	for i := range list.Items {
		rem := &list.Items[i]
		if rem.Name == p.rem.Name || !mayHaveWritten(rem) {
			continue
		}
		other, err := b.shelf.book(ctx, rem)
		var incomplete errPlanIncomplete
		if errors.As(err, &incomplete) {
			continue // somebody deleted a part of it: it neither writes nor ends until a person acts
		}
		if err != nil {
			return nil, fmt.Errorf("look what plan %s has in work: %w", rem.Name, err)
		}
		for n := range other.places {
			if inWork(rem, other.record(n)) {
				claims[other.target(n).Object.UID] = rem.Name
			}
		}
	}
	for plan, taken := range b.reserved {
		for uid := range taken {
			if plan != p.rem.Name {
				claims[uid] = plan
			}
		}
	}
	return claims, nil
}

// claimedBy tells why a target waits.
func claimedBy(plan string) string {
	return fmt.Sprintf("plan %s has the object in work: one plan at a time changes an object", plan)
}
