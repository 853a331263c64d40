// SPDX-License-Identifier: Apache-2.0

package diagnose

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestABreakerThatIsHeldOpenSaysUntilWhen(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	end := metav1.NewTime(time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC))
	for name, tc := range map[string]struct {
		until *metav1.Time
		left  time.Duration
		want  string
	}{
		"for good": {want: "a person holds breaker global open (ann: INC-42): no write begins in its scope"},
		"until a time": {until: &end, left: 1, want: "a person holds breaker global open until 2027-01-07T08:00:00Z " +
			"(ann: INC-42): no write begins in its scope"},
		"its end has come": {until: &end, want: "1 breaker is closed"},
	} {
		t.Run(name, func(t *testing.T) {
			cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global"},
				Spec: v1alpha1.RemediationBreakerSpec{Mode: v1alpha1.BreakerForcedOpen, ForcedOpenUntilTime: tc.until}}
			recorded.Requests(cb, v1alpha1.RequestRecord{Action: v1alpha1.ActionForceOpen, User: "ann",
				Reason: "INC-42", UntilTime: tc.until})
			in := &Installation{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(cb).Build(),
				Clock: clocktesting.NewFakePassiveClock(end.Add(-tc.left)), working: &working{yes: true}}
			if found := breakers(t.Context(), in); len(found) != 1 || found[0].Message != tc.want {
				t.Errorf("found %+v, want %q", found, tc.want)
			}
		})
	}
}
