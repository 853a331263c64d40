// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"errors"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// An answer whose plan can't be read waits for the plan, and nothing is reported of it meanwhile.
func TestAnAnswerWhosePlanCantBeReadIsTriedAgain(t *testing.T) {
	outage := errors.New("the API server doesn't answer")
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	a := answerOf("bob", v1alpha1.DecisionApprove, 1)
	get := func(ctx context.Context, api client.WithWatch, key client.ObjectKey, obj client.Object,
		opts ...client.GetOption) error {
		if _, plan := obj.(*v1alpha1.Remediation); plan {
			return outage
		}
		return api.Get(ctx, key, obj, opts...)
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(a).WithStatusSubresource(
		a).WithInterceptorFuncs(interceptor.Funcs{Get: get}).Build()
	c := &Controller{client: api, reader: api, clock: clocktesting.NewFakePassiveClock(planMade)}
	result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(a)})
	if !errors.Is(err, outage) || result != (ctrl.Result{}) {
		t.Errorf("got %+v, %v; want %v", result, err, outage)
	}
	if err := api.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil ||
		len(a.Status.Conditions)+len(a.OwnerReferences) > 0 {
		t.Errorf("the answer holds %+v, owned by %v, %v", a.Status.Conditions, a.OwnerReferences, err)
	}
}
