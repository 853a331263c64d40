// SPDX-License-Identifier: Apache-2.0

package strategy

import (
	"context"
	"flag"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write the table of docs/reference/conditions.md anew")

func TestConditionsOfStrategies(t *testing.T) {
	state := func(name string, followers int,
		change func(*v1alpha1.RemediationStrategy)) kstatus.State[*v1alpha1.RemediationStrategy] {
		s := careful()
		change(s)
		return kstatus.State[*v1alpha1.RemediationStrategy]{Name: name, Object: s,
			Set: func(s *v1alpha1.RemediationStrategy, now time.Time) { setStatus(s, followers, now) }}
	}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.RemediationStrategy]{
		state("policies follow it", 2, func(*v1alpha1.RemediationStrategy) {}),
		state("no policy follows it", 0, func(*v1alpha1.RemediationStrategy) {}),
		state("it can't be followed: it was written while admission was away", 2,
			func(s *v1alpha1.RemediationStrategy) {
				s.Spec.Windows = []v1alpha1.MaintenanceWindow{
					{Schedule: "0 0 30 2 *", Duration: metav1.Duration{Duration: time.Hour}}}
			}),
		state("it is being deleted, and something keeps it", 2, func(s *v1alpha1.RemediationStrategy) {
			s.DeletionTimestamp, s.Finalizers = &metav1.Time{Time: time.Unix(1_700_000_000, 0)},
				[]string{"example.com/keep"}
		}),
		state("what is stored can't be read", 2, func(s *v1alpha1.RemediationStrategy) {
			s.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "soak: 1 day"}
		}),
	})
}

func TestTheStatusCountsWhoFollows(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	other, third := following("other"), following("careful")
	other.Name, third.Name = "q", "r"
	third.Spec.Remediation.Mode = v1alpha1.RemediationDisabled
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(careful(), following("careful"), other,
		third).WithStatusSubresource(careful()).Build()
	controller := NewController(Options{Client: c,
		Clock: clocktesting.NewFakePassiveClock(time.Unix(1_700_000_000, 0))})
	request := ctrl.Request{NamespacedName: types.NamespacedName{Name: "careful"}}
	if _, err := controller.Reconcile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	s, err := Read(t.Context(), c, "careful")
	if err != nil || s.Status.Policies != 2 || s.Status.ObservedGeneration != 3 {
		t.Fatalf("status %+v, %v", s.Status, err)
	}
	if is := s.Status.InForce; is == nil ||
		*is != (v1alpha1.StrategyInForce{Steps: "1, 1%, 100%", Soak: "1h0m0s, 1h0m0s, 1h0m0s",
			OnFailure: v1alpha1.FailureRollback}) {
		t.Errorf("in force: %+v", is)
	}
	got := Followers(c)(context.Background(), careful())
	if len(got) != 2 || got[0].Name != "p" || got[1].Name != "r" {
		t.Errorf("followers %v", got)
	}
	if requests := namedBy(t.Context(), following("careful")); len(requests) != 1 || requests[0].Name != "careful" {
		t.Errorf("the policy's strategy: %v", requests)
	}
}
