// SPDX-License-Identifier: Apache-2.0

package override

import (
	"flag"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/test/kstatus"
)

var update = flag.Bool("update", false, "write the table of docs/reference/conditions.md anew")

// setAt sets the conditions of an override as they are at a time.
func setAt(o *v1alpha1.PolicyOverride, uid types.UID, offset time.Duration) *Override {
	in := InForce(o, Policy{UID: uid, Declared: v1alpha1.AdmissionDeny}, at(offset))
	kube.SetConditions(o, at(offset), conditions(o, why(o, uid, at(offset)), in)...)
	return in
}

func TestConditionsOfOverrides(t *testing.T) {
	state := func(name string, uid types.UID, now time.Duration,
		changes ...func(*v1alpha1.PolicyOverride)) kstatus.State[*v1alpha1.PolicyOverride] {
		return kstatus.State[*v1alpha1.PolicyOverride]{Name: name, Object: softened(changes...),
			Set: func(o *v1alpha1.PolicyOverride, _ time.Time) { setAt(o, uid, now) }}
	}
	kstatus.Table(t, *update, []kstatus.State[*v1alpha1.PolicyOverride]{
		state("the policy is overridden", "1", time.Hour),
		state("it has ended by itself", "1", 2*time.Hour),
		state("it is being deleted, and a finalizer keeps it", "1", time.Hour, func(o *v1alpha1.PolicyOverride) {
			o.DeletionTimestamp = &metav1.Time{Time: at(0)}
		}),
		state("its policy is gone, or was recreated", "2", time.Hour),
		state("admission hasn't seen who asks", "1", time.Hour, requests()),
		state("it can't be read", "1", time.Hour, func(o *v1alpha1.PolicyOverride) {
			o.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "spec"}
		}),
	})
}

func TestBeginAndEndAreToldOnce(t *testing.T) {
	o := softened()
	var told []string
	step := func(offset time.Duration) {
		before := o.DeepCopy()
		if note := announcement(before, o, setAt(o, "1", offset)); note.reason != "" {
			told = append(told, note.reason)
		}
	}
	step(0)
	step(time.Minute)
	o.Spec.ExpirationTime = metav1.NewTime(at(4 * time.Hour))
	step(time.Hour)
	step(3 * time.Hour)
	step(4 * time.Hour)
	step(5 * time.Hour)
	if want := []string{v1alpha1.EventPolicyOverridden, v1alpha1.EventPolicyOverridden,
		v1alpha1.EventOverrideEnded}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v: its begin, its later end, and that it is over", told, want)
	}
	o = softened(requests())
	told = nil
	step(0)
	if len(told) > 0 {
		t.Errorf("told %v of one that was never in force", told)
	}
}
