// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/seal"
)

// Whoever may delete plans deletes one that has ended, proven or not: the API server asks for
// the verb abort of those without Complete or Failed.
func TestAPlanThatIsDistrustedHasStillEnded(t *testing.T) {
	for _, end := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionFailed, ""} {
		t.Run("it told "+end, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan"}}
			rem.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "Well"}}
			if end != "" {
				rem.Status.Conditions = append(
					rem.Status.Conditions, metav1.Condition{Type: end, Status: metav1.ConditionTrue, Reason: "Ended",
						Message: "as it was"})
			}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem).WithStatusSubresource(rem).Build()
			c := &Controller{client: api, records: record.NewCache(api),
				clock:  clocktesting.NewFakePassiveClock(time.Unix(9, 0)),
				events: events.NewRecorder(clientevents.NewFakeRecorder(10))}
			now := &v1alpha1.Remediation{}
			for range 2 { // and keeps it
				if err := api.Get(t.Context(), client.ObjectKeyFromObject(rem), now); err != nil {
					t.Fatal(err)
				}
				if err := c.distrust(t.Context(), now, seal.ErrUnproven); err != nil {
					t.Fatal(err)
				}
			}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(rem), now); err != nil {
				t.Fatal(err)
			}
			if stalled := meta.FindStatusCondition(now.Status.Conditions, v1alpha1.ConditionStalled); stalled == nil ||
				stalled.Reason != v1alpha1.ReasonUnproven {
				t.Errorf("it doesn't say that it is distrusted: %+v", now.Status.Conditions)
			}
			for _, kind := range []string{v1alpha1.ConditionComplete, v1alpha1.ConditionFailed} {
				if got := meta.IsStatusConditionTrue(now.Status.Conditions, kind); got != (kind == end) {
					t.Errorf("%s is %t: %+v", kind, got, now.Status.Conditions)
				}
			}
		})
	}
}

// A plan whose record is gone keeps its finalizer, so that it can't vanish unseen:
// who is told to delete it must also be told how to let go of that.
func TestAPlanWithoutItsRecordSaysHowToLetItGo(t *testing.T) {
	c := &Controller{clock: clocktesting.NewFakePassiveClock(time.Unix(1, 0)),
		events: events.NewRecorder(clientevents.NewFakeRecorder(1))}
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "web-1a2b3c4d"}}
	c.stuck(rem, errors.New("slice web-1a2b3c4d-0 of the plan doesn't exist"))
	for _, part := range []string{
		"slice web-1a2b3c4d-0 of the plan doesn't exist: ",
		"kubectl delete remediation web-1a2b3c4d --wait=false;",
		`kubectl patch remediation web-1a2b3c4d --type=merge -p '{"metadata":{"finalizers":null}}'`,
	} {
		if !strings.Contains(rem.Status.Message, part) {
			t.Errorf("the message has no %q: %s", part, rem.Status.Message)
		}
	}
}
