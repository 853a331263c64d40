// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestExplainSaysUntilWhenABreakerIsHeldOpen(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	end := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"},
		Spec: v1alpha1.RemediationBreakerSpec{Mode: v1alpha1.BreakerForcedOpen, ForcedOpenUntilTime: &end,
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}}}
	recorded.Requests(cb, v1alpha1.RequestRecord{Action: v1alpha1.ActionForceOpen, User: "ann", Reason: "INC-42",
		UntilTime: &end})
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(cb).Build()
	e := &Explanation{}
	if err := e.breakers(t.Context(), reader, end.Add(-1)); err != nil || len(e.Breakers) != 1 ||
		e.Breakers[0].Message != "a person holds it open until 2027-01-07T08:00:00Z (ann: INC-42)" {
		t.Errorf("right before its end: %+v, %v", e.Breakers, err)
	}
	e = &Explanation{}
	if err := e.breakers(t.Context(), reader, end.Time); err != nil || len(e.Breakers) > 0 {
		t.Errorf("at its end: %+v, %v", e.Breakers, err)
	}
}
