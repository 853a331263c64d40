// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/seal"
)

// An answer to a plan that isn't proven waits for the plan, without trying again for ever
// and without a word on what the plan made of it.
func TestAnAnswerToAnUnprovenPlanWaits(t *testing.T) {
	outage := errors.New("the API server doesn't answer")
	cases := map[string]struct{ err, want error }{
		"the plan isn't proven":  {err: fmt.Errorf("Remediation p: %w", seal.ErrUnproven)},
		"the plan can't be read": {err: outage, want: outage},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			a := answerOf("bob", v1alpha1.DecisionApprove, 1)
			get := func(ctx context.Context, api client.WithWatch, key client.ObjectKey, obj client.Object,
				opts ...client.GetOption) error {
				if _, plan := obj.(*v1alpha1.Remediation); plan {
					return tc.err
				}
				return api.Get(ctx, key, obj, opts...)
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(a).WithStatusSubresource(
				a).WithInterceptorFuncs(interceptor.Funcs{Get: get}).Build()
			c := &Controller{client: api, reader: api, clock: clocktesting.NewFakePassiveClock(planMade)}
			result, err := c.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(a)})
			if !errors.Is(err, tc.want) || result != (ctrl.Result{}) {
				t.Errorf("got %+v, %v; want %v", result, err, tc.want)
			}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(a), a); err != nil ||
				len(a.Status.Conditions)+len(a.OwnerReferences) > 0 {
				t.Errorf("the answer holds %+v, owned by %v, %v", a.Status.Conditions, a.OwnerReferences, err)
			}
		})
	}
}
