// SPDX-License-Identifier: Apache-2.0

package fixtest

import (
	"context"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Revision is the revision of every policy of Verdicts.
const Revision = "r1"

// Verdicts are enforced policies by name, each a function that judges an object; nil when
// the policy doesn't concern it.
type Verdicts map[string]func(object map[string]any) *policy.Decision

// Definition is a policy that concerns ConfigMaps and ReplicaSets; the one named "audit"
// isn't enforced.
func (v Verdicts) Definition(name string) *v1alpha1.ClusterRegoPolicy {
	if v[name] == nil {
		return nil
	}
	p := &v1alpha1.ClusterRegoPolicy{}
	p.Name = name
	p.Spec.Admission.Action = v1alpha1.AdmissionDeny
	if name == "audit" {
		p.Spec.Admission.Action = v1alpha1.AdmissionAudit
	}
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{
		{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}},
		{APIGroups: []string{"apps"}, Kinds: []string{"ReplicaSet"}}}
	return p
}

// Revision is the same for all.
func (v Verdicts) Revision(name string) (string, bool) { return Revision, v[name] != nil }

// LooksUp is false: none looks other objects up.
func (Verdicts) LooksUp(string) bool { return false }

// Referring are none.
func (Verdicts) Referring(...schema.GroupKind) []string { return nil }

// Shows is always content.
func (Verdicts) Shows(string, ...*unstructured.Unstructured) error { return nil }

// Selects is true: what is looked up isn't narrowed.
func (Verdicts) Selects(string, *unstructured.Unstructured) bool { return true }

// Holds is false: nothing is looked up.
func (Verdicts) Holds(string, v1alpha1.ObjectReference) (bool, error) { return false, nil }

// Knows is always content.
func (Verdicts) Knows(string) error { return nil }

// EvaluateOne asks one policy.
func (v Verdicts) EvaluateOne(_ context.Context, name string, r *policy.Request) (catalog.Result, bool) {
	if v[name] == nil {
		return catalog.Result{}, false
	}
	d := v[name](r.Object)
	if d == nil {
		return catalog.Result{}, false
	}
	d.Policy = name
	return catalog.Result{Decision: *d, Definition: v.Definition(name)}, true
}

// Evaluate asks all policies, by name.
func (v Verdicts) Evaluate(ctx context.Context, r *policy.Request) []catalog.Result {
	var out []catalog.Result
	for _, name := range slices.Sorted(maps.Keys(v)) {
		if result, concerns := v.EvaluateOne(ctx, name, r); concerns {
			out = append(out, result)
		}
	}
	return out
}

// BadState is a policy that finds fault with data.state "bad", and proposes some actions.
func BadState(actions ...policy.Action) func(map[string]any) *policy.Decision {
	return func(object map[string]any) *policy.Decision {
		data, _ := object["data"].(map[string]any)
		if data["state"] != "bad" {
			return &policy.Decision{}
		}
		return &policy.Decision{Violations: []policy.Violation{{Message: "the state is bad"}}, Actions: actions}
	}
}

// SetState is a patch of data.state.
func SetState(value string) policy.Action {
	return policy.Action{Type: policy.ActionPatch,
		Ops: []policy.PatchOp{{Op: "replace", Path: "/data/state", Value: value, HasValue: true}}}
}
