// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestHeldPlansAreWokenByTransitionsOnly(t *testing.T) {
	closed := v1alpha1.RemediationBreaker{Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed}}
	cases := map[string]struct {
		change func(*v1alpha1.RemediationBreaker)
		want   bool
	}{
		"nothing": {func(*v1alpha1.RemediationBreaker) {}, false},
		"a count": {func(cb *v1alpha1.RemediationBreaker) {
			cb.Status.Storm = &v1alpha1.BreakerStorm{Violating: 3}
		}, false},
		"an outcome": {func(cb *v1alpha1.RemediationBreaker) { cb.Status.Outcomes = 3 }, false},
		"it opens":   {func(cb *v1alpha1.RemediationBreaker) { cb.Status.State = v1alpha1.BreakerOpen }, true},
		"a person holds it": {func(cb *v1alpha1.RemediationBreaker) {
			cb.Spec.Mode = v1alpha1.BreakerForcedOpen
		}, true},
		"a person's hold has ended": {func(cb *v1alpha1.RemediationBreaker) {
			cb.Status.Mode = v1alpha1.BreakerAutomatic
		}, true},
		"a permit is taken": {func(cb *v1alpha1.RemediationBreaker) {
			cb.Status.Permit = &v1alpha1.BreakerPermit{Remediation: "a"}
		}, true},
		"a demotion": {func(cb *v1alpha1.RemediationBreaker) {
			cb.Status.Demoted = &v1alpha1.BreakerDemotion{}
		}, true},
		"an objective answers": {func(cb *v1alpha1.RemediationBreaker) {
			cb.Status.SLO = &v1alpha1.BreakerSLO{Verdict: v1alpha1.SLOWithin}
		}, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			is := closed.DeepCopy()
			tc.change(is)
			if got := gateChanges().Update(
				event.UpdateEvent{ObjectOld: closed.DeepCopy(), ObjectNew: is}); got != tc.want {
				t.Errorf("held plans are woken: %t, want %t", got, tc.want)
			}
		})
	}
}

// A slice that somebody restores wakes its plan; the plan's own writes don't.
func TestARestoredSliceWakesItsPlan(t *testing.T) {
	slice := &metav1.PartialObjectMetadata{
		ObjectMeta: metav1.ObjectMeta{Name: "tags-1-0", Labels: map[string]string{v1alpha1.LabelRemediation: "tags-1"}}}
	p := sliceComesOrGoes()
	if !p.Create(event.CreateEvent{Object: slice}) || !p.Delete(event.DeleteEvent{Object: slice}) ||
		p.Update(event.UpdateEvent{ObjectOld: slice, ObjectNew: slice}) {
		t.Error("a slice that comes or goes is news, one that is written isn't")
	}
	if got := planOfSlice(context.Background(), slice); len(got) != 1 || got[0].Name != "tags-1" {
		t.Errorf("its plan is %v", got)
	}
	yes := true
	restored := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "tags-1-0",
		OwnerReferences: []metav1.OwnerReference{{Kind: "Remediation", Name: "tags-1", Controller: &yes}}}}
	if got := planOfSlice(context.Background(), restored); len(got) != 1 || got[0].Name != "tags-1" {
		t.Errorf("the plan of one restored without labels is %v", got)
	}
	if got := planOfSlice(context.Background(), &metav1.PartialObjectMetadata{}); got != nil {
		t.Errorf("a slice of nobody wakes %v", got)
	}
}
