package remediate

import (
	"context"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// permitted asks the breakers right before a write, and takes the permits of those
// that are half-open. A write that one of them doesn't let through now waits: the
// next look finds the gate closed, and says why.
func (c *Controller) permitted(ctx context.Context, p *pass, intent Intent) (Intent, error) {
	if len(intent.Write) == 0 {
		return intent, nil
	}
	namespaces := map[string]bool{}
	for _, i := range intent.Write {
		namespaces[p.book.target(i).Object.Namespace] = true
	}
	gate, err := c.breakers.admit(ctx, p.rem, namespaces)
	if err != nil || !gate.Closed {
		return intent, err
	}
	intent.Write, intent.Wait = nil, minWait
	intent.Message = gate.Message
	return intent, nil
}

// giveBack gives back the permits of a plan that ended without an outcome, or that
// can't write now and has nothing in flight: it may wait for long, and others are
// to probe meanwhile. It asks anew before its next write.
func (c *Controller) giveBack(ctx context.Context, p *pass, intent Intent) error {
	if endsWithoutOutcome(intent) {
		return c.breakers.release(ctx, p.rem)
	}
	if !intent.idle() || p.book.counts().InFlight > 0 {
		return nil
	}
	held, err := c.breakers.heldBy(ctx, p.rem)
	if err != nil || !held {
		return err
	}
	return c.breakers.release(ctx, p.rem)
}

// idle says whether a step only waits for what lets a write begin.
func (i Intent) idle() bool {
	if i.Wait == 0 || len(i.Write)+len(i.Resolve)+len(i.Revert)+len(i.Preview)+len(i.Marks) > 0 {
		return false
	}
	switch i.Phase {
	case v1alpha1.PhaseHeld, v1alpha1.PhaseApplying, v1alpha1.PhasePlanned, v1alpha1.PhaseAwaitingApproval:
		return true
	case v1alpha1.PhasePreviewing, v1alpha1.PhaseVerifying, v1alpha1.PhaseSoaking, v1alpha1.PhaseRollingBack, v1alpha1.PhasePreviewed,
		v1alpha1.PhaseSucceeded, v1alpha1.PhaseRolledBack, v1alpha1.PhaseRollbackIncomplete, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted:
	}
	return false
}

// heldBy says whether a plan holds any permit, as the cache knows it: one that it
// doesn't know yet is given back at the next look.
func (b *breakers) heldBy(ctx context.Context, rem *v1alpha1.Remediation) (bool, error) {
	list, err := b.cached.list(ctx)
	if err != nil {
		return false, err
	}
	for i := range list {
		if canary.Holds(list[i].Status, rem.Name) {
			return true, nil
		}
	}
	return false, nil
}

// release gives back every permit that a plan holds. It reads the breakers that
// are there and makes none: a breaker is born by what is observed of it.
func (b *breakers) release(ctx context.Context, rem *v1alpha1.Remediation) error {
	return b.releaseWhere(ctx, rem, func(v1alpha1.BreakerScope) bool { return true })
}

// releaseNamespaces gives back the permits of namespaces in which the plan has
// proved nothing.
func (b *breakers) releaseNamespaces(ctx context.Context, rem *v1alpha1.Remediation) error {
	return b.releaseWhere(ctx, rem, func(s v1alpha1.BreakerScope) bool { return s.Type == v1alpha1.BreakerScopeNamespace })
}

func (b *breakers) releaseWhere(ctx context.Context, rem *v1alpha1.Remediation, where func(v1alpha1.BreakerScope) bool) error {
	list, err := b.store.list(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		cb := &list[i]
		if !where(cb.Spec.Scope) || !canary.Holds(cb.Status, rem.Name) {
			continue
		}
		before := cb.DeepCopy()
		cb.Status = canary.Release(cb.Status, rem.Name)
		if err := b.write(ctx, before, cb, rem); err != nil {
			return err
		}
	}
	return nil
}
