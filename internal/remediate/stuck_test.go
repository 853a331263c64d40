// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientevents "k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// A plan that was made again under its name has written nothing: somebody deletes it, and it goes. One whose slice is
// gone keeps its finalizer.
func TestAPlanWithTheRecordsOfAnotherMayGo(t *testing.T) {
	for name, foreign := range map[string]bool{"another plan's records": true, "no records": false} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := v1alpha1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			now := metav1.NewTime(time.Unix(9, 0))
			rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan", UID: "second",
				DeletionTimestamp: &now, Finalizers: []string{v1alpha1.Finalizer}}}
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem).WithStatusSubresource(rem).Build()
			c := &Controller{client: api, clock: clocktesting.NewFakePassiveClock(now.Time),
				events: events.NewRecorder(clientevents.NewFakeRecorder(10))}
			if err := api.Get(t.Context(), client.ObjectKeyFromObject(rem), rem); err != nil {
				t.Fatal(err)
			}
			_, err := c.withoutRecords(t.Context(), rem, record.IncompleteError{Foreign: foreign})
			if (err == nil) != foreign {
				t.Errorf("unexpected error %v", err)
			}
			err = api.Get(t.Context(), client.ObjectKeyFromObject(rem), &v1alpha1.Remediation{})
			if gone := apierrors.IsNotFound(err); gone != foreign {
				t.Errorf("gone: %t, want %t (%v)", gone, foreign, err)
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
