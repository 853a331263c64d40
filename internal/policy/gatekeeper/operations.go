// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Webhooks are those of a ValidatingWebhookConfiguration that enforce Gatekeeper's constraints; none for any other
// object, or one that can't be read.
func Webhooks(object map[string]any) []admissionregistrationv1.ValidatingWebhook {
	if object["kind"] != "ValidatingWebhookConfiguration" ||
		groupOf(object) != admissionregistrationv1.GroupName {
		return nil
	}
	config := &admissionregistrationv1.ValidatingWebhookConfiguration{}
	raw, err := json.Marshal(object)
	if err != nil || json.Unmarshal(raw, config) != nil {
		return nil
	}
	return slices.DeleteFunc(config.Webhooks, func(w admissionregistrationv1.ValidatingWebhook) bool {
		return w.Name != WebhookPoint
	})
}

// asked is what the API server asks Gatekeeper's webhook.
type asked struct {
	// rules are those of its configuration; nil where that isn't known.
	rules []admissionregistrationv1.RuleWithOperations
	// fails says that a request that it doesn't answer is refused.
	fails bool
	// plurals name the resources of the kinds of CustomResourceDefinitions.
	plurals map[schema.GroupKind]string
	// otherwise are the operations where there are no rules.
	otherwise []v1alpha1.Operation
}

// readAsked reads it from the documents; otherwise are the operations where they don't tell, none for the default.
func readAsked(documents []manifest.Document, otherwise []v1alpha1.Operation) asked {
	a := asked{plurals: map[schema.GroupKind]string{}, otherwise: otherwise}
	if len(otherwise) == 0 {
		a.otherwise = match.DefaultOperations()
	}
	for i := range documents {
		object := documents[i].Object
		for _, w := range Webhooks(object) {
			if a.rules = append(a.rules, w.Rules...); a.rules == nil {
				a.rules = []admissionregistrationv1.RuleWithOperations{} // it is asked about nothing
			}
			a.fails = a.fails || w.FailurePolicy == nil || *w.FailurePolicy == admissionregistrationv1.Fail
		}
		if definesKind(object) {
			k := kindDefined(object)
			a.plurals[schema.GroupKind{Group: k.Group, Kind: k.Kind}], _, _ = unstructured.NestedString(object, "spec",
				"names", "plural")
		}
	}
	return a
}

func (a *asked) about(op v1alpha1.Operation) bool {
	if a.rules == nil {
		return slices.Contains(a.otherwise, op)
	}
	return slices.ContainsFunc(a.rules, func(r admissionregistrationv1.RuleWithOperations) bool { return has(&r, op) })
}

func has(r *admissionregistrationv1.RuleWithOperations, op v1alpha1.Operation) bool {
	return slices.Contains(r.Operations, admissionregistrationv1.OperationType(op)) ||
		slices.Contains(r.Operations, admissionregistrationv1.OperationAll)
}

// untold says that it isn't known whether the webhook is asked about an operation, and is taken not to be.
func (a *asked) untold(op v1alpha1.Operation) bool { return a.rules == nil && !a.about(op) }

func (a *asked) on(op v1alpha1.Operation, k Kind) bool {
	if a.rules == nil {
		return a.about(op)
	}
	gk := schema.GroupKind{Group: k.Group, Kind: k.Kind}
	guessed, _ := meta.UnsafeGuessKindToResource(gk.WithVersion(""))
	plural := cmp.Or(a.plurals[gk], guessed.Resource)
	return Asks(a.rules, op, k.Group, plural, k.Scope)
}

// Asks says whether rules of a webhook mean an operation on a resource of a group, "pods" or "pods/exec", as the API
// server reads them (k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules). An empty scope is one that isn't
// known.
func Asks(rules []admissionregistrationv1.RuleWithOperations, op v1alpha1.Operation,
	group, resource, scope string) bool {
	name, sub, _ := strings.Cut(resource, "/")
	is := func(pattern, what string) bool { return pattern == everything || pattern == what }
	return slices.ContainsFunc(rules, func(r admissionregistrationv1.RuleWithOperations) bool {
		within := r.Scope == nil || scope == "" || is(string(*r.Scope), scope)
		inGroup := slices.Contains(r.APIGroups, group) || slices.Contains(r.APIGroups, everything)
		return within && inGroup && has(&r, op) && slices.ContainsFunc(r.Resources, func(pattern string) bool {
			of, part, _ := strings.Cut(pattern, "/")
			return is(of, name) && is(part, sub)
		})
	})
}

// of has a policy be asked about what the webhook is, and fail as it does, and says what to know of it.
func (a *asked) of(p *v1alpha1.ClusterRegoPolicy, r *reached) (notes []string) {
	if a.fails {
		p.Spec.Admission.FailurePolicy = v1alpha1.FailurePolicyFail
	}
	p.Spec.Admission.Operations, notes = a.operations(r.kinds, r.subresources)
	return notes
}

// operations are those that a policy on some kinds and subresources must be asked about to judge what its constraint
// did; none for the default. The notes say where Gatekeeper's webhook is asked about less, or more.
func (a *asked) operations(kinds []Kind, subresources []policy.Subresource) (ops []v1alpha1.Operation,
	notes []string) {
	for _, op := range allOperations() {
		is, note := a.onAll(op, kinds)
		if sub := judgedOn(op, subresources); sub != "" && !is {
			is, note = true, beside(sub, op, kinds)
		}
		if is {
			ops = append(ops, op)
		}
		if note != "" {
			notes = append(notes, note)
		}
	}
	switch {
	case len(ops) == 0:
		return nil, append(notes, "Gatekeeper's webhook isn't asked about these kinds, by the rules of its "+
			"configuration; the policy is, about CREATE and UPDATE")
	case slices.Equal(ops, match.DefaultOperations()):
		return nil, notes
	case len(kinds) > 0 && !slices.ContainsFunc(ops, isUsual):
		notes = append(notes, "the scan leaves the policy out, which is asked neither about CREATE nor about UPDATE, "+
			"as Gatekeeper's webhook is; Gatekeeper's audit doesn't")
	}
	return ops, notes
}

// beside says that kinds are judged on an operation only because a subresource is; empty where there are none.
func beside(subresource string, op v1alpha1.Operation, kinds []Kind) string {
	if len(kinds) == 0 || op == v1alpha1.OperationConnect {
		return ""
	}
	return fmt.Sprintf("the policy is asked about %s for the sake of %s, and so of its other kinds, of which "+
		"Gatekeeper's webhook isn't: divide the constraint", op, subresource)
}

// isUsual says that Gatekeeper's webhook is asked about an operation by default.
func isUsual(op v1alpha1.Operation) bool { return slices.Contains(match.DefaultOperations(), op) }

// judgedOn is the first of the subresources that is judged on an operation; empty for none.
func judgedOn(op v1alpha1.Operation, among []policy.Subresource) string {
	for _, s := range among {
		if v1alpha1.Operation(s.Operation) == op {
			return s.String()
		}
	}
	return ""
}

// onAll says whether a policy on some kinds is asked about an operation: it is where the webhook is about all of them,
// and where it is about some alone, which the note tells, about what is asked by default. No object is connected to.
func (a *asked) onAll(op v1alpha1.Operation, kinds []Kind) (is bool, note string) {
	var yes, no []string
	for _, k := range kinds {
		if a.on(op, k) {
			yes = append(yes, k.String())
		} else {
			no = append(no, k.String())
		}
	}
	switch {
	case op == v1alpha1.OperationConnect || len(yes) == 0:
		return false, ""
	case len(no) == 0:
		return true, ""
	}
	is, which := isUsual(op), "none"
	if is {
		which = "all"
	}
	return is, fmt.Sprintf("Gatekeeper's webhook is asked about %s of %s, and not of %s, by the rules of its "+
		"configuration; the policy is asked of %s: divide the constraint by these kinds", op, strings.Join(yes, ", "),
		strings.Join(no, ", "), which)
}
