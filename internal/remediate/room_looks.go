package remediate

import (
	"context"
	"slices"
)

// maxRecoveryReads bounds how many objects a step looks at that were undone.
const maxRecoveryReads = 64

// atRecovery looks whether the objects whose write was undone are well again.
func (c *Controller) atRecovery(ctx context.Context, p *pass, o *Observation) error {
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
	inParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.checkRecovered(ctx, list[n]) })
	return nil
}

// atRollbackRoom bars the targets whose undoing must wait for room, and reserves
// room for the others.
func (c *Controller) atRollbackRoom(ctx context.Context, p *pass, o *Observation) error {
	c.budgets.reserveUndo(ctx, p.rem, p.book, o)
	return nil
}

// atBudgets bars the targets of the wave that no budget has room for now, or whose
// objects other plans have in work, and reserves room for those that the step may write.
func (c *Controller) atBudgets(ctx context.Context, p *pass, o *Observation) error {
	m := o.members(o.Status.Wave)
	if n := int(o.Spec.Plan.Strategy.MaxInFlight) - len(m.applied); n > 0 && len(m.ready) > 0 && len(m.intents) == 0 && o.open() {
		return c.budgets.reserve(ctx, p.rem, p.book, o, m.ready, n)
	}
	return nil
}
