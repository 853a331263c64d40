// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
)

// tellOwners records what isn't ours to fix, with the fix as a proposal, before
// the rollout begins: no breaker, window or approval is needed to tell somebody.
// It says how long to wait when there is more to tell; zero when all is told.
func (c *Controller) tellOwners(ctx context.Context, p *execute.Pass) (time.Duration, error) {
	if p.Remediation.Phase() != v1alpha1.PhasePlanned {
		return 0, nil
	}
	batch, wait := p.ToSkip(c.clock.Now())
	if len(batch) == 0 && wait == 0 {
		return 0, nil
	}
	demoted, err := c.breakers.Demoted(ctx, p.Remediation.Spec.Plan.Policy.Name)
	if err != nil {
		return 0, err
	}
	if _, why := stop(p.Remediation, p.InForce, demoted, &c.floors); why != "" {
		return 0, nil // the plan ends before it begins
	}
	if len(batch) == 0 {
		return wait, nil
	}
	return time.Millisecond, c.tell(ctx, p, batch)
}

// tell records a batch of objects that are left alone, and tells their owners.
func (c *Controller) tell(ctx context.Context, p *execute.Pass, batch []int) error {
	before := p.Records.Views()
	attempts, records := make([]*fix.Attempt, len(batch)), make([]v1alpha1.TargetRecord, len(batch))
	for n, i := range batch {
		attempts[n] = p.Attempt(i)
	}
	p.InParallel(len(batch), func(n int) { records[n] = attempts[n].Look(ctx) })
	for n, i := range batch {
		p.SetRecord(i, records[n])
	}
	if err := p.Save(ctx); err != nil {
		return err
	}
	c.reportTargets(p.Remediation, before, p.Records)
	c.metrics.countFinished(p.Remediation.Spec.Plan.Policy.Name, before, p.Records)
	for n, a := range attempts {
		if a.Owner != nil && records[n].Proposal != "" {
			c.events.Target(*a.Owner, p.Remediation, v1alpha1.EventManagedByOther, fix.ProposalNote(records[n]))
		}
	}
	return nil
}
