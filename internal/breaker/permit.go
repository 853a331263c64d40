// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// HeldBy says whether a plan holds any permit, as the cache knows it: one that it
// doesn't know yet is given back at the next look.
func (b *Set) HeldBy(ctx context.Context, rem *v1alpha1.Remediation) (bool, error) {
	list, err := readAll(ctx, b.o.Client)
	if err != nil {
		return false, err
	}
	for i := range list {
		if circuit.Holds(list[i].Status, rem.Name) {
			return true, nil
		}
	}
	return false, nil
}

// Release gives back every permit that a plan holds. It reads the breakers that
// are there and makes none: a breaker is born by what is observed of it.
func (b *Set) Release(ctx context.Context, rem *v1alpha1.Remediation) error {
	return b.releaseWhere(ctx, rem, func(v1alpha1.BreakerScope) bool { return true })
}

func (b *Set) releaseWhere(ctx context.Context, rem *v1alpha1.Remediation,
	where func(v1alpha1.BreakerScope) bool) error {
	list, err := readAll(ctx, b.o.Reader)
	if err != nil {
		return err
	}
	for i := range list {
		cb := &list[i]
		if !where(cb.Spec.Scope) || !circuit.Holds(cb.Status, rem.Name) {
			continue
		}
		before := cb.DeepCopy()
		cb.Status = circuit.Release(cb.Status, rem.Name)
		if err := b.write(ctx, before, cb, rem); err != nil {
			return err
		}
	}
	return nil
}
