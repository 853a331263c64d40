// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"cmp"
	"context"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// proposeBatch is how many targets are looked at in a step while a plan awaits its approval.
const proposeBatch = 64

// Propose records for the next targets what the plan would do to them, for whoever is to
// approve it, and writes none of them. It says how long to wait for the next; zero when all
// is known.
func (p *Pass) Propose(ctx context.Context, now time.Time) (time.Duration, error) {
	batch, wait := p.toPropose(now)
	if len(batch) == 0 {
		return wait, nil
	}
	attempts := make([]*fix.Attempt, len(batch))
	changes, notYet := make([]preview.Change, len(batch)), make([]*v1alpha1.TargetRecord, len(batch))
	for n, i := range batch {
		attempts[n] = p.Attempt(i)
	}
	p.InParallel(len(batch), func(n int) { changes[n], notYet[n] = attempts[n].Propose(ctx) })
	for n, i := range batch {
		if notYet[n] != nil {
			p.Records.Set(i, *notYet[n])
		} else {
			p.Records.Propose(i, changes[n])
		}
	}
	return rollout.MinWait, p.Save(ctx)
}

// toPropose are the next targets whose change isn't known, and else how long to wait for
// the next try of one that couldn't be told.
func (p *Pass) toPropose(now time.Time) (batch []int, wait time.Duration) {
	for i := range p.Records.Places {
		rec := p.Records.Record(i)
		if p.Records.Target(i).SkipReason != "" || rec.State != v1alpha1.TargetPending {
			continue
		}
		if _, known := preview.ParseChange(rec.Proposal); known {
			continue
		}
		if next := rec.NextAttemptTime; next != nil && next.After(now) {
			left := rollout.Until(now, next.Time)
			wait = min(cmp.Or(wait, left), left)
			continue
		}
		if batch = append(batch, i); len(batch) == proposeBatch {
			break
		}
	}
	return batch, wait
}
