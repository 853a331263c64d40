// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
)

// A plan takes part in as many writes as it may have written, and in no more.
func TestAPlanTakesPartWhileItHasRoom(t *testing.T) {
	for room, want := range map[int][]string{0: {"Applied /data/a", ""}, 1: {"Applied /data/a", "Applied /data/b"}} {
		c := newCompany(t, wants("one", "a", "good"), wants("two", "b", "good"))
		one := &Partner{Pass: c.passes[1], Ready: map[string]int{"u1": 0}, Room: room, Leave: func() {}}
		c.passes[0].Partners = func(context.Context, map[string]bool) []*Partner { return []*Partner{one} }
		if err := c.lead(); err != nil {
			t.Fatal(err)
		}
		equal(t, want, c.persisted())
		if one.Room != 0 {
			t.Errorf("of a room of %d there is %d left", room, one.Room)
		}
	}
}

// The proof of a joint write is as brief as that of the plan that leads had to be.
func TestTheProofOfAJointWriteStaysAsBriefAsItWas(t *testing.T) {
	whole := func(w *fix.Write) {}
	cases := map[string]struct {
		change func(*fix.Write)
		want   bool
	}{
		"it had room for its places": {whole, true},
		"it had none":                {func(w *fix.Write) { w.Record.Expected.Places = nil }, false},
		"there was no proof yet":     {func(w *fix.Write) { w.Record.Expected = nil }, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCompany(t, wants("one", "a", "good"), wants("two", "b", "good"))
			a := c.passes[0].Attempt(0)
			rec := a.Prepare(t.Context())
			j := join(t.Context(), a, c.passes[0].Partners(t.Context(), nil))
			if rec.State != v1alpha1.TargetIntent || j == nil {
				t.Fatalf("nothing is written together: %+v", rec)
			}
			tc.change(a.Writes[0])
			got, err := j.expect(rec)
			if err != nil || (got.Write.Expected.Places != nil) != tc.want {
				t.Errorf("places are told: %t, %v", got.Write.Expected.Places != nil, err)
			}
		})
	}
}

// A part of a joint write records by which key it finds its list's elements again.
func TestThePartOfAJointWriteRecordsItsKeys(t *testing.T) {
	labels := map[string]string{"app": "web"}
	b := newBench(t, &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d1"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "a:1"}}}}}})
	object, err := b.pass.Targets.Read(t.Context(),
		v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"})
	if err != nil {
		t.Fatal(err)
	}
	patch := policy.Action{Type: policy.ActionPatch, Ops: []policy.PatchOp{
		{Op: "replace", Path: "/spec/template/spec/containers/0/image", Value: "a:2", HasValue: true}}}
	a := &fix.Attempt{Targets: b.pass.Targets}
	if a.Patched, err = action.Apply(object.Object, []policy.Action{patch}); err != nil {
		t.Fatal(err)
	}
	j := &joint{lead: &fix.Attempt{Object: object}, patched: object.Object, result: object}
	w, _ := j.dryRun(t.Context(), a, action.Step{Type: v1alpha1.ActionPatch, Ops: patch.Ops}, action.Marking{})
	if w == nil {
		t.Fatal("it can't be written together")
	}
	if len(w.Record.Keys) == 0 || w.Record.Keys[0].Path != "/spec/template/spec/containers/0/name" ||
		len(w.Record.Forward) != 1 || w.Record.Action != v1alpha1.ActionPatch || w.Record.DigestAfter == "" {
		t.Errorf("the record is %+v", w.Record)
	}
}
