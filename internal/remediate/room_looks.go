// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"slices"

	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// maxRecoveryReads bounds how many objects a step looks at that were undone.
const maxRecoveryReads = 64

// observeRecovery looks whether the objects whose write was undone are well again.
func (c *Controller) observeRecovery(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	var list []int
	for i, t := range o.Targets {
		if t.Recovering {
			list = append(list, i)
		}
	}
	// A large rollback is looked at in turn, by the time, so that none is forgotten.
	if turn := int(o.Now.Unix()) % max(len(list), 1); len(list) > maxRecoveryReads {
		list = slices.Concat(list[turn:], list[:turn])[:maxRecoveryReads]
	}
	p.InParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.CheckRecovered(ctx, list[n]) })
	return nil
}

// observeRollbackRoom bars the targets whose undoing must wait for room, and reserves
// room for the others.
func (c *Controller) observeRollbackRoom(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	c.budgets.ReserveUndo(ctx, p.Remediation, p.Records, o)
	return nil
}

// observeBudgets bars the targets of the wave that no budget has room for now, or whose
// objects other plans have in work, and reserves room for those that the step may write.
func (c *Controller) observeBudgets(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	m := o.Members(o.Status.Wave)
	if n := int(o.Spec.Plan.Strategy.MaxInFlight) - len(m.Applied); n > 0 && len(m.Ready) > 0 && len(m.Intents) == 0 &&
		o.Open() {
		return c.budgets.Reserve(ctx, p.Remediation, p.Records, o, m.Ready, n)
	}
	return nil
}
