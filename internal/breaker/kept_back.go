// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// KeptBack returns the namespaces in which breakers let a plan write nothing now, and why: those of
// namespaces, and the policy's own when it is open for one. The plan may use its own permits, and
// those that are free.
func (b *Set) KeptBack(ctx context.Context, rem *v1alpha1.Remediation) (map[string]string, error) {
	list, err := readAll(ctx, b.o.Reader)
	if err != nil {
		return nil, err
	}
	back := map[string]string{}
	for i := range list {
		switch scope := list[i].Spec.Scope; {
		case scope.Type == v1alpha1.BreakerScopeNamespace:
			if a := b.ask(ctx, &list[i], rem); !a.verdict.Allowed {
				back[scope.Namespace] = a.refusal
			}
		case scope == PolicyScope(rem.Spec.Plan.Policy.Name):
			if a := b.ask(ctx, &list[i], rem); a.only != "" {
				back[a.only] = a.refusal
			}
		}
	}
	return back, nil
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
	back, err := b.KeptBack(ctx, rem)
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
