// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// tripGlobal opens the global breaker when enough policies' breakers are open, and
// closes it when they were all that held it open and do so no more.
func (b *Set) tripGlobal(ctx context.Context, rem *v1alpha1.Remediation) error {
	list, err := readAll(ctx, b.o.Reader)
	if err != nil {
		return err
	}
	strategy, now := b.strategy(GlobalScope()), b.o.Clock.Now()
	if open := b.openPolicies(list); circuit.TripGlobal(open) {
		return b.update(ctx, GlobalScope(), rem, func(cb *v1alpha1.RemediationBreaker) {
			cb.Status = circuit.Open(cb.Status, v1alpha1.ReasonPolicyBreakersOpen,
				circuit.MessagePolicyBreakersOpen(len(open)), strategy, now)
		})
	}
	for i := range list {
		if list[i].Name == v1alpha1.GlobalBreakerName && circuit.HeldByPolicies(&list[i].Status) {
			return b.update(ctx, GlobalScope(), rem, func(cb *v1alpha1.RemediationBreaker) {
				cb.Status = circuit.ReleaseGlobal(cb.Status, strategy, now)
			})
		}
	}
	return nil
}

// openPolicies are the policies' breakers that are open, as time has made them.
func (b *Set) openPolicies(list []v1alpha1.RemediationBreaker) []v1alpha1.RemediationBreakerStatus {
	var open []v1alpha1.RemediationBreakerStatus
	for _, cb := range list {
		// Time alone may have turned it half-open since it was last written.
		st := circuit.Tick(cb.Status, b.strategy(cb.Spec.Scope), b.o.Clock.Now())
		if cb.Spec.Scope.Type == v1alpha1.BreakerScopePolicy && st.State == v1alpha1.BreakerOpen {
			open = append(open, st)
		}
	}
	return open
}

// released is the global breaker's status before time moves it on: one whose cause has
// passed isn't to wait for a probe. When nobody can tell, it stays as it is.
func (b *Set) released(ctx context.Context, st v1alpha1.RemediationBreakerStatus) v1alpha1.RemediationBreakerStatus {
	if !circuit.HeldByPolicies(&st) {
		return st
	}
	list, err := readAll(ctx, b.o.Reader)
	if err != nil || circuit.TripGlobal(b.openPolicies(list)) {
		return st
	}
	return circuit.ReleaseGlobal(st, b.strategy(GlobalScope()), b.o.Clock.Now())
}

// globalHeld says whether the global breaker may be open for policies' breakers, as
// the cache knows it.
func (b *Set) globalHeld(ctx context.Context) (bool, error) {
	cb, err := read(ctx, b.o.Client, v1alpha1.GlobalBreakerName)
	if err != nil {
		return false, client.IgnoreNotFound(err)
	}
	return circuit.HeldByPolicies(&cb.Status), nil
}

// reviewGlobal looks at the global breaker again after another breaker has changed
// or gone: opened says that it may have to open.
func (b *Set) reviewGlobal(ctx context.Context, opened bool) error {
	held, err := b.globalHeld(ctx)
	if err != nil || !opened && !held {
		return err
	}
	return b.tripGlobal(ctx, nil)
}
