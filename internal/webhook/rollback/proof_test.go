// SPDX-License-Identifier: Apache-2.0

package rollback

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/seal"
)

type tree = map[string]any

// deployment is one whose fix took the privilege from its container.
func deployment(privileged bool, change ...func(tree)) tree {
	container := tree{"name": "web", "image": "example.com/web:1", "securityContext": tree{"privileged": privileged}}
	spec := tree{"replicas": int64(2), "template": tree{"spec": tree{"containers": []any{container}}}}
	d := tree{"apiVersion": "apps/v1", "kind": "Deployment", "spec": spec,
		"metadata": tree{"name": "web", "namespace": "shop", "uid": "u1", "resourceVersion": "7",
			"generation": int64(3), "labels": tree{"app": "web"}}}
	for _, c := range change {
		c(d)
	}
	return d
}

func image(d tree) {
	containers, _ := action.Lookup(d, "/spec/template/spec/containers")
	containers.([]any)[0].(tree)["image"] = "evil.example.com/shell:1"
}

func target() v1alpha1.ObjectReference {
	return v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web",
		UID: "u1"}
}

func must[T any](t *testing.T, v T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// patched is the record of the fix.
func patched(t *testing.T) *v1alpha1.WriteRecord {
	fields := action.Diff(deployment(true), deployment(false))
	w := &v1alpha1.WriteRecord{UID: "u1", ResourceVersion: "6", Action: v1alpha1.ActionPatch,
		AppliedAt: &metav1.MicroTime{}}
	var err error
	w.Fields, err = action.ToRecordFields(fields)
	must(t, w, err)
	w.Keys, err = action.ToRecordOps(action.Keys(deployment(true), fields))
	must(t, w, err)
	w.DigestBefore, err = action.DigestBefore(fields)
	must(t, w, err)
	w.DigestAfter, err = action.DigestAfter(fields)
	return must(t, w, err)
}

// mark gives an object a mark.
func mark(plan string) func(tree) {
	return func(d tree) {
		d["metadata"].(tree)["annotations"] = tree{v1alpha1.AnnotationLastRemediation: plan}
	}
}

// marked is patched with the mark of a plan, in place of an earlier one.
func marked(t *testing.T, earlier string) *v1alpha1.WriteRecord {
	w, before := patched(t), deployment(true)
	if earlier != "" {
		mark(earlier)(before)
	}
	var err error
	w.Forward, err = action.ToRecordOps(action.MarkingOf(before, before, "plan").Around(nil))
	return must(t, w, err)
}

func deleted(t *testing.T) *v1alpha1.WriteRecord {
	raw, err := json.Marshal(action.Manifest(deployment(true)))
	return &v1alpha1.WriteRecord{UID: "u1", ResourceVersion: "6", Action: v1alpha1.ActionDelete,
		Manifest: &apiextensionsv1.JSON{Raw: must(t, raw, err)}}
}

// world holds a plan in a phase, with one record, as the manager writes both.
func world(t *testing.T, phase v1alpha1.RemediationPhase, rec v1alpha1.TargetRecord) (client.Client, *Proof) {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&v1alpha1.Remediation{}).Build()
	own := seal.NewClient(api, &seal.Keeper{Reader: api, Writer: api, Namespace: "evenkeel-system"})
	plan := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "plan", UID: "p1"},
		Spec: v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{Slices: []string{"plan-0"}}}}
	slice := &v1alpha1.RemediationSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "plan-0", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Remediation", Name: "plan", UID: "p1",
				Controller: ptr.To(true)}}},
		Remediation: "plan", Targets: []v1alpha1.Target{{Object: target()}}}
	ctx := context.Background()
	for _, obj := range []client.Object{plan, slice} {
		if err := own.Create(ctx, obj); err != nil {
			t.Fatal(err)
		}
	}
	plan.Status.Phase, slice.Records = phase, []v1alpha1.TargetRecord{rec}
	for _, err := range []error{own.Status().Update(ctx, plan), own.Update(ctx, slice)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return api, &Proof{Reader: seal.NewReader(api, seal.Known{Reader: api, Namespace: "evenkeel-system"})}
}

func update(object, old tree) *policy.Request {
	return &policy.Request{Operation: policy.Update,
		Kind:      policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"},
		Namespace: "shop", Name: "web", Object: object, OldObject: old}
}

func create(object tree) *policy.Request {
	r := update(object, nil)
	r.Operation = policy.Create
	return r
}

func TestOnlyWhatARecordHoldsIsARollback(t *testing.T) {
	rolling := v1alpha1.PhaseRollingBack
	applied := func(w *v1alpha1.WriteRecord) v1alpha1.TargetRecord {
		return v1alpha1.TargetRecord{State: v1alpha1.TargetApplied, Write: w}
	}
	now := metav1.NowMicro()
	cases := map[string]struct {
		phase   v1alpha1.RemediationPhase
		record  v1alpha1.TargetRecord
		request *policy.Request
		proven  bool
	}{
		"a patch that is set back": {rolling, applied(patched(t)), update(deployment(true), deployment(false)), true},
		"a patch that is set back, and another's later edit kept": {rolling, applied(patched(t)),
			update(deployment(true, image), deployment(false, image)), true},
		"a patch that is set back, with another image": {
			rolling, applied(patched(t)), update(deployment(true, image), deployment(false)), false},
		"a patch that is set back, with a label more": {rolling, applied(patched(t)),
			update(deployment(true, func(d tree) {
				d["metadata"].(tree)["labels"] = tree{"app": "web", "x": "y"}
			}), deployment(false)), false},
		"a patch that is set back with its mark": {rolling, applied(marked(t, "")),
			update(deployment(true), deployment(false, mark("plan"))), true},
		"a patch that is set back with an earlier mark": {rolling, applied(marked(t, "earlier")),
			update(deployment(true, mark("earlier")), deployment(false, mark("plan"))), true},
		"a patch that is set back, and somebody's mark kept": {rolling, applied(marked(t, "")),
			update(deployment(true, mark("me")), deployment(false, mark("me"))), true},
		"a patch that is set back with a mark that was never there": {rolling, applied(marked(t, "")),
			update(deployment(true, mark("forged")), deployment(false, mark("plan"))), false},
		"a patch of before there were marks, with one": {rolling, applied(patched(t)),
			update(deployment(true, mark("forged")), deployment(false)), false},
		"the violation on an object that never had our write": {
			rolling, applied(patched(t)), update(deployment(true), deployment(true)), false},
		"an object that was made again since": {
			rolling, applied(patched(t)), update(deployment(true), deployment(false, func(d tree) {
				d["metadata"].(tree)["uid"] = "u2"
			})), false},
		"a plan that isn't rolling back": {
			v1alpha1.PhaseSoaking, applied(patched(t)), update(deployment(true), deployment(false)), false},
		"a plan that has ended": {v1alpha1.PhaseSucceeded, applied(patched(t)),
			update(deployment(true), deployment(false)), false},
		"a part of a fix that is taken back while it applies": {v1alpha1.PhaseApplying,
			v1alpha1.TargetRecord{State: v1alpha1.TargetIntent, Preceding: []v1alpha1.WriteRecord{*patched(t)},
				Write: deleted(t)},
			update(deployment(true), deployment(false)), true},
		"a write that is undone already": {
			rolling, v1alpha1.TargetRecord{State: v1alpha1.TargetReverted, Write: patched(t)},
			update(deployment(true), deployment(false)), false},
		"a write that is marked as undone": {rolling, applied(func() *v1alpha1.WriteRecord {
			w := patched(t)
			w.RevertedAt = &now
			return w
		}()), update(deployment(true), deployment(false)), false},
		"a deleted object that is made again": {
			rolling, applied(deleted(t)), create(deployment(true)), true},
		"a deleted object that is made again with another image": {
			rolling, applied(deleted(t)), create(deployment(true, image)), false},
		"a new object where nothing was deleted": {
			rolling, applied(patched(t)), create(deployment(true)), false},
		"another object": {rolling, applied(patched(t)), update(
			deployment(true, func(d tree) { d["metadata"].(tree)["name"] = "shop" }), deployment(false, func(d tree) {
				d["metadata"].(tree)["name"] = "shop"
			})), false},
		"an object that wasn't read": {
			rolling, applied(patched(t)), &policy.Request{Operation: policy.Update, Partial: true}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, proof := world(t, tc.phase, tc.record)
			if err := proof.Check(context.Background(), tc.request); (err == nil) != tc.proven {
				t.Errorf("got %v, want proven %t", err, tc.proven)
			}
		})
	}
}

func TestAForgedRecordProvesNoRollback(t *testing.T) {
	ctx := context.Background()
	api, proof := world(t, v1alpha1.PhaseRollingBack,
		v1alpha1.TargetRecord{State: v1alpha1.TargetApplied, Write: patched(t)})
	rollback := update(deployment(true), deployment(false))
	if err := proof.Check(ctx, rollback); err != nil {
		t.Fatal(err)
	}
	forged := &v1alpha1.RemediationSlice{}
	if err := api.Get(ctx, client.ObjectKey{Name: "plan-0"}, forged); err != nil {
		t.Fatal(err)
	}
	forged.Records[0].Message = "x"
	if err := api.Update(ctx, forged); err != nil {
		t.Fatal(err)
	}
	if err := proof.Check(ctx, rollback); !errors.Is(err, ErrNotRecorded) {
		t.Errorf("got %v, want ErrNotRecorded", err)
	}
}

func TestARollbackThatBeginsLaterIsProven(t *testing.T) {
	ctx := context.Background()
	api, proof := world(t, v1alpha1.PhaseSucceeded,
		v1alpha1.TargetRecord{State: v1alpha1.TargetDone, Write: patched(t)})
	undo := update(deployment(true), deployment(false))
	if err := proof.Check(ctx, undo); !errors.Is(err, ErrNotRecorded) {
		t.Fatalf("before anybody asks for it: %v", err)
	}
	own := seal.NewClient(api, &seal.Keeper{Reader: api, Writer: api, Namespace: "evenkeel-system"})
	plan := &v1alpha1.Remediation{}
	if err := api.Get(ctx, client.ObjectKey{Name: "plan"}, plan); err != nil {
		t.Fatal(err)
	}
	plan.Status.Phase = v1alpha1.PhaseRollingBack
	if err := own.Status().Update(ctx, plan); err != nil {
		t.Fatal(err)
	}
	if err := proof.Check(ctx, undo); err != nil {
		t.Errorf("once the plan undoes its writes: %v", err)
	}
}
