// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
)

// marking is what a write adds to its patch to name the plan at the object. It adds nothing
// where any policy would judge the marked object otherwise, or where its record would have
// no room or hold a Secret's value: the fix is written without it.
func (a *Attempt) marking(w *Write) action.Marking {
	if !a.Targets.Annotate || a.Unmarkable || a.Patched == nil || w.Subresource != "" {
		return action.Marking{}
	}
	fixed, err := action.Apply(w.Base.Object, []policy.Action{{Type: policy.ActionPatch, Ops: w.Ops}})
	if err != nil {
		return action.Marking{} // the API server says so, too
	}
	m := action.MarkingOf(w.Base.Object, fixed, a.Remediation)
	if len(m.Around(w.Ops)) > maxRecordItems ||
		policy.IsSecret(w.Base.Object) && policy.SecretsOf(w.Base.Object, a.Patched).In(markBefore(w.Base)) {
		return action.Marking{}
	}
	return m
}

func markBefore(obj *unstructured.Unstructured) any {
	mark, _ := action.MarkOf(obj.Object)
	return mark
}

// judgeMarked finds out whether the mark would bring a violation that the fix doesn't.
func (a *Attempt) judgeMarked(ctx context.Context, before map[string]policy.Decision) {
	if !a.Targets.Annotate || !slices.ContainsFunc(a.Steps, func(s action.Step) bool {
		return s.Type == v1alpha1.ActionPatch && s.Subresource == ""
	}) {
		return
	}
	m := action.MarkingOf(a.Object.Object, a.Patched, a.Remediation)
	marked, err := action.Apply(a.Patched, []policy.Action{{Type: policy.ActionPatch, Ops: m.Set}})
	a.Unmarkable = err != nil || a.Resolves(ctx, marked, "with the mark") != nil ||
		a.newViolations(ctx, before, marked, "the marked object") != nil
}

// tryPatch sends a write as a server-side dry run.
func (a *Attempt) tryPatch(ctx context.Context, w *Write) (*unstructured.Unstructured, error) {
	return a.Targets.Patch(ctx, w.Base, w.Subresource,
		append(action.Exact(w.Base.Object), w.Marking.Around(w.Ops)...), client.DryRunAll)
}

// refusedAsSuch says whether what was sent is refused for what it is, by the API server's
// validation or by admission.
func refusedAsSuch(err error) bool {
	return kube.DeniedByAdmission(err) || kube.Classify(err) == kube.Invalid
}
