// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// KeptBack are the namespaces in which breakers let a policy's plans write nothing now,
// and why: those of namespaces, and the policy's own when it is open for one.
func (b *Set) KeptBack(ctx context.Context, policyName string) (map[string]string, error) {
	return b.keptBack(ctx, policyName, &v1alpha1.Remediation{})
}

// keptBack asks for one of the policy's plans, which may have the permits.
func (b *Set) keptBack(ctx context.Context, policyName string, rem *v1alpha1.Remediation) (map[string]string, error) {
	list, err := readAll(ctx, b.o.Reader)
	if err != nil {
		return nil, err
	}
	back := map[string]string{}
	for i := range list {
		scope := list[i].Spec.Scope
		if scope.Type != v1alpha1.BreakerScopeNamespace && scope != PolicyScope(policyName) {
			continue
		}
		a := b.ask(ctx, &list[i], rem)
		half := b.probes(&a)
		in := scope.Namespace
		if in == "" {
			in = a.only
		}
		if in != "" && !half && (a.only != "" || !a.verdict.Allowed) {
			back[in] = a.refusal
		}
	}
	return back, nil
}

// probes says that a breaker has a permit to give.
func (b *Set) probes(a *admission) bool {
	return a.observed.State == v1alpha1.BreakerHalfOpen && a.observed.Permit == nil &&
		!a.breaker.Spec.ForcedOpen(b.o.Clock.Now())
}

// FixableOutside says whether a fix is offered for any object outside of some namespaces.
func FixableOutside[V any](found []policy.Finding, namespaces map[string]V) bool {
	return slices.ContainsFunc(found, func(f policy.Finding) bool {
		_, in := namespaces[f.Namespace]
		return f.Fixable && !in
	})
}

// Outlasted says why a plan is no longer to wait for the breakers of namespaces, or "":
// nothing is left of it but what they keep back, and others wait for a plan meanwhile.
func (b *Set) Outlasted(ctx context.Context, rem *v1alpha1.Remediation, pending []v1alpha1.ObjectReference) (
	string, error) {
	if !rem.Status.Phase.Facts().Holds || rem.Status.Reason != v1alpha1.ReasonBreakerOpen {
		return "", nil
	}
	back, err := b.KeptBack(ctx, rem.Spec.Plan.Policy.Name)
	if err != nil || len(back) == 0 {
		return "", err
	}
	for _, ref := range pending {
		if _, in := back[ref.Namespace]; !in {
			return "", nil
		}
	}
	found, revision, complete := b.o.Findings.Findings(rem.Spec.Plan.Policy.Name)
	if !complete || revision != rem.Spec.Plan.Policy.Revision || !FixableOutside(found, back) {
		return "", nil
	}
	return fmt.Sprintf("breakers keep back all that is left of the plan in namespace %s, and objects elsewhere wait; "+
		"a plan for them follows", pending[0].Namespace), nil
}
