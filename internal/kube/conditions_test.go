// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestConditionsAreReplacedAndTheirTimesKept(t *testing.T) {
	noon := time.Date(2027, 3, 1, 12, 0, 0, 999, time.UTC)
	obj := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	obj.Status.Conditions = []metav1.Condition{
		{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Theirs", ObservedGeneration: 1}}
	SetConditions(obj, noon, Underway(v1alpha1.ReasonFetchFailed, "no route")...)
	obj.Generation = 2
	SetConditions(obj, noon.Add(time.Hour),
		Underway(v1alpha1.ReasonApplyFailed, strings.Repeat("é", maxConditionMessage))...)

	at := func(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(d).Truncate(time.Second)) }
	theirs := metav1.Condition{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Theirs", ObservedGeneration: 1}
	message := strings.Repeat("é", (maxConditionMessage-len("…"))/2) + "…"
	want := []metav1.Condition{theirs,
		{Type: "Ready", Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonApplyFailed, Message: message,
			ObservedGeneration: 2, LastTransitionTime: at(0)},
		{Type: "Reconciling", Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplyFailed, Message: message,
			ObservedGeneration: 2, LastTransitionTime: at(0)}}
	if diff := cmp.Diff(want, obj.Status.Conditions); diff != "" || obj.Status.ObservedGeneration != 2 {
		t.Errorf("the reason changed, and no status (-want +got):\n%s", diff)
	}

	SetConditions(obj, noon.Add(2*time.Hour), Ready(v1alpha1.ReasonApplied, "")...)
	want = []metav1.Condition{theirs,
		{Type: "Ready", Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied, ObservedGeneration: 2,
			LastTransitionTime: at(2 * time.Hour)}}
	if diff := cmp.Diff(want, obj.Status.Conditions); diff != "" {
		t.Errorf("what holds no more goes, and what others set stays (-want +got):\n%s", diff)
	}
}
