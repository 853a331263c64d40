package remediate

import (
	"context"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// heldBy says whether a plan holds any permit, as the cache knows it: one that it
// doesn't know yet is given back at the next look.
func (b *breakers) heldBy(ctx context.Context, rem *v1alpha1.Remediation) (bool, error) {
	list, err := b.o.Cached.All(ctx)
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
	list, err := b.o.Store.All(ctx)
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
