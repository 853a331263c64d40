// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Undoing restarts what the rollout restarted, so it keeps to the same budgets,
// and what it has undone counts for other plans until it is well again. It is
// never blocked altogether: while nothing of it recovers, one target may always be
// undone, whatever the budgets say, and also when nobody knows what they say.

// ReserveUndo takes room for what may be undone now, and bars the other targets.
func (b *Budgets) ReserveUndo(ctx context.Context, rem *v1alpha1.Remediation, own *record.Records,
	o *rollout.Observation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	room, err := b.room(ctx, rem, own, &limits.Floors{})
	why := ""
	if err != nil {
		room, why = &canary.Room{}, "what other plans have in flight isn't known: "+err.Error()
		if !record.Unreadable(err) {
			log.FromContext(ctx).Error(err, "the budgets can't be read: undoing one target at a time")
		}
	}
	b.reserved[rem.Name] = o.PaceUndo(room, why)
}
