// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// maxCounted bounds how many targets of one outcome a breaker counts: it
// remembers that many keys, so that none is counted twice after a crash.
const maxCounted = 32

// Record counts a plan's outcomes in every breaker that covers them. Doing it
// again after a crash counts nothing twice.
func (b *Set) Record(ctx context.Context, rem *v1alpha1.Remediation, outcomes []rollout.Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	for _, scope := range scopes(rem.Spec.Plan.Policy.Name) {
		if err := b.update(ctx, scope, rem, func(cb *v1alpha1.RemediationBreaker) {
			b.count(cb, rem, circuitEvents(rem, outcomes))
		}); err != nil {
			return err
		}
	}
	if err := b.recordNamespaces(ctx, rem, outcomes); err != nil {
		return err
	}
	return b.tripGlobal(ctx, rem)
}

// count lets a breaker's status hear of a plan's events.
func (b *Set) count(cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation, list []circuit.Event) {
	strategy := b.strategyFor(cb.Spec.Scope, rem)
	for _, e := range list {
		switch cb.Spec.Scope.Type {
		case v1alpha1.BreakerScopeNamespace:
			e = e.ForShared()
		case v1alpha1.BreakerScopeGlobal:
			e = e.ForGlobal()
		case v1alpha1.BreakerScopePolicy:
		}
		cb.Status = circuit.Next(cb.Status, e, strategy, b.o.Clock.Now())
	}
}

// recordNamespaces counts outcomes in the breakers of the namespaces in which
// they happened. A namespace gets its breaker with its first failure. Once the
// plan has ended, its permits for namespaces in which it proved nothing are given
// back.
func (b *Set) recordNamespaces(ctx context.Context, rem *v1alpha1.Remediation, outcomes []rollout.Outcome) error {
	byNamespace, err := b.inNamespaces(ctx)
	if err != nil {
		return err
	}
	within := byNamespaceOf(outcomes)
	for _, namespace := range slices.Sorted(maps.Keys(within)) {
		if byNamespace[namespace] == nil && !slices.ContainsFunc(within[namespace], rollout.Outcome.Harmed) {
			continue
		}
		if err := b.update(ctx, NamespaceScope(namespace), rem, func(cb *v1alpha1.RemediationBreaker) {
			b.count(cb, rem, circuitEvents(rem, within[namespace]))
		}); err != nil {
			return err
		}
	}
	if !slices.ContainsFunc(outcomes, rollout.Outcome.Ends) {
		return nil
	}
	return b.releaseWhere(ctx, rem, func(s v1alpha1.BreakerScope) bool {
		return s.Type == v1alpha1.BreakerScopeNamespace
	})
}

// byNamespaceOf splits outcomes by the namespaces in which they happened.
func byNamespaceOf(outcomes []rollout.Outcome) map[string][]rollout.Outcome {
	within := map[string][]rollout.Outcome{}
	for _, o := range outcomes {
		for namespace, n := range o.Namespaces {
			o.Count = n
			within[namespace] = append(within[namespace], o)
		}
	}
	return within
}

// circuitEvents are outcomes as the breakers' rules read them. A plan's outcome is one
// event, whatever it counts.
func circuitEvents(rem *v1alpha1.Remediation, outcomes []rollout.Outcome) []circuit.Event {
	var list []circuit.Event
	for _, o := range outcomes {
		n := min(o.Count, maxCounted)
		if o.Ends() {
			n = 1
		}
		in := o.Places()
		for i := range n {
			list = append(list, circuit.Event{
				Type: o.Type, Remediation: rem.Name, Policy: rem.Spec.Plan.Policy.Name,
				Namespaces: in[int(i)%len(in)], Key: fmt.Sprintf("%s/%d", o.Key, i)})
		}
	}
	return list
}
