// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// heldPlans are the plans that may go on when a breaker changes: those held, of its
// policy if it is a policy's.
func (c *Controller) heldPlans(ctx context.Context, obj client.Object) []ctrl.Request {
	list := &v1alpha1.RemediationList{}
	if err := c.client.List(ctx, list); err != nil {
		return nil
	}
	policy := ""
	if cb, ok := obj.(*v1alpha1.RemediationBreaker); ok {
		policy = cb.Spec.Scope.Policy
	}
	var requests []ctrl.Request
	for _, rem := range list.Items {
		if rem.Status.Phase.Facts().Holds && (policy == "" || rem.Spec.Plan.Policy.Name == policy) {
			requests = append(requests, ctrl.Request{NamespacedName: types.NamespacedName{Name: rem.Name}})
		}
	}
	return requests
}

// gateChanges lets through what may let a held plan go on: a breaker's state, a
// person's hold, a permit, a demotion, an objective's verdict. Counts wake nobody.
func gateChanges() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(e event.UpdateEvent) bool {
			was, ok := e.ObjectOld.(*v1alpha1.RemediationBreaker)
			is, also := e.ObjectNew.(*v1alpha1.RemediationBreaker)
			return !ok || !also || gateOfStatus(was) != gateOfStatus(is)
		},
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}

// passing is what a breaker's word for a plan depends on.
type passing struct {
	state           v1alpha1.BreakerState
	forced, demoted bool
	// mode is as the breaker's controller has seen it: a hold ends by the clock too.
	mode    v1alpha1.BreakerMode
	holder  string
	verdict v1alpha1.SLOVerdict
}

func gateOfStatus(cb *v1alpha1.RemediationBreaker) passing {
	p := passing{state: cb.Status.State, forced: cb.Spec.AsksOpen(), demoted: cb.Status.Demoted != nil,
		mode: cb.Status.Mode}
	if cb.Status.Permit != nil {
		p.holder = cb.Status.Permit.Remediation
	}
	if cb.Status.SLO != nil {
		p.verdict = cb.Status.SLO.Verdict
	}
	return p
}

// sliceComesOrGoes lets through that a slice is there again, or is gone: a plan whose
// slice was deleted stands still until somebody restores it. What is written to
// slices is the plan's own doing.
func sliceComesOrGoes() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return true },
		UpdateFunc: func(event.UpdateEvent) bool { return false },
		DeleteFunc: func(event.DeleteEvent) bool { return true },
	}
}

// planOfSlice is the plan that a slice belongs to, by its label or else its owner.
func planOfSlice(_ context.Context, obj client.Object) []ctrl.Request {
	plan := obj.GetLabels()[v1alpha1.LabelRemediation]
	if owner := metav1.GetControllerOf(obj); plan == "" && owner != nil {
		plan = owner.Name
	}
	if plan == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: plan}}}
}
