// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/escalate"
)

// tellOwners records what isn't ours to fix, with the fix as a proposal, before
// the rollout begins: no breaker, window or approval is needed to tell somebody.
// It says how long to wait when there is more to tell; zero when all is told.
func (c *Controller) tellOwners(ctx context.Context, p *pass) (time.Duration, error) {
	if phase := p.rem.Status.Phase; phase != "" && phase != v1alpha1.PhasePlanned {
		return 0, nil
	}
	batch, wait := p.toSkip(c.clock.Now())
	if len(batch) == 0 && wait == 0 {
		return 0, nil
	}
	demoted, err := c.breakers.Demoted(ctx, p.rem.Spec.Plan.Policy.Name)
	if err != nil {
		return 0, err
	}
	if _, why := stop(p.rem, p.inForce, demoted, &c.floors); why != "" {
		return 0, nil // the plan ends before it begins
	}
	if len(batch) == 0 {
		return wait, nil
	}
	return time.Millisecond, c.tell(ctx, p, batch)
}

// tell records a batch of objects that are left alone, and tells their owners.
func (c *Controller) tell(ctx context.Context, p *pass, batch []int) error {
	before := p.records.Views()
	attempts, records := make([]*attempt, len(batch)), make([]v1alpha1.TargetRecord, len(batch))
	for n, i := range batch {
		attempts[n] = p.attempt(i)
	}
	p.inParallel(len(batch), func(n int) { records[n] = attempts[n].look(ctx) })
	for n, i := range batch {
		p.setRecord(i, records[n])
	}
	if err := p.saver(ctx); err != nil {
		return err
	}
	c.reportTargets(p.rem, before, p.records)
	c.metrics.countFinished(p.rem.Spec.Plan.Policy.Name, before, p.records)
	for n, a := range attempts {
		if a.owner != nil && records[n].Proposal != "" {
			c.events.Target(*a.owner, p.rem, escalate.ReasonManagedByOther, proposalNote(records[n]))
		}
	}
	return nil
}
