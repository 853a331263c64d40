// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// narrowed is what the webhook is asked of that a template is evaluated on, nil for all of it.
func (a *asked) narrowed(only []v1alpha1.Operation) *asked {
	if only == nil {
		return a
	}
	out := *a
	out.otherwise = slices.DeleteFunc(slices.Clone(a.otherwise), func(op v1alpha1.Operation) bool {
		return !slices.Contains(only, op)
	})
	for i := range a.rules {
		if i == 0 {
			out.rules = make([]admissionregistrationv1.RuleWithOperations, 0, len(a.rules))
		}
		r := a.rules[i]
		r.Operations = nil
		for _, op := range only {
			if has(&a.rules[i], op) {
				r.Operations = append(r.Operations, admissionregistrationv1.OperationType(op))
			}
		}
		out.rules = append(out.rules, r)
	}
	return &out
}

// onAny says whether the webhook is asked about any of what a policy would concern, or may be.
func (a *asked) onAny(r *reached) bool {
	return a.rules == nil || slices.ContainsFunc(r.kinds, func(k Kind) bool {
		return slices.ContainsFunc(allOperations(), func(op v1alpha1.Operation) bool { return a.on(op, k) })
	})
}

func allOperations() []v1alpha1.Operation {
	return []v1alpha1.Operation{v1alpha1.OperationCreate, v1alpha1.OperationUpdate, v1alpha1.OperationDelete,
		v1alpha1.OperationConnect}
}

// never says why nothing of what a policy would concern is ever refused by Gatekeeper, whose webhook isn't asked about
// the operations that the template is evaluated on; empty where it is, or where the template is on all.
func (a *asked) never(only []v1alpha1.Operation, r *reached) string {
	on := func(k Kind) bool {
		return slices.ContainsFunc(only, func(op v1alpha1.Operation) bool { return a.on(op, k) })
	}
	if only == nil || len(r.refused) > 0 || len(r.subresources) > 0 || slices.ContainsFunc(r.kinds, on) {
		return ""
	}
	names := make([]string, 0, len(only))
	for _, op := range only {
		names = append(names, string(op))
	}
	why := fmt.Sprintf("its ConstraintTemplate is evaluated on %s alone, about which Gatekeeper's webhook isn't "+
		"asked, so that nothing is refused by it", strings.Join(names, ", "))
	if a.rules == nil {
		why += ": where yours is asked, give its ValidatingWebhookConfiguration too, or --operations"
	}
	return why
}
