// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func TestAnEvictionIsNeverUndoneInSilence(t *testing.T) {
	b := newBench(t)
	rec := v1alpha1.TargetRecord{
		State: v1alpha1.TargetApplied, Write: &v1alpha1.WriteRecord{Action: v1alpha1.ActionEvict, UID: "older"}}
	got := b.pass.reverted(t.Context(), b.target, rec)
	if got.State != v1alpha1.TargetRevertConflict || got.Reason != v1alpha1.ReasonNoUndo || got.Message == "" {
		t.Errorf("%s (%s): %s", got.State, got.Reason, got.Message)
	}
	rec.Write.UID = "u1" // it never happened
	if got := b.pass.reverted(t.Context(), b.target, rec); got.State != v1alpha1.TargetReverted {
		t.Errorf("%s (%s): %s", got.State, got.Reason, got.Message)
	}
}

func TestRemovalsAreVerified(t *testing.T) {
	controller := func(ready int32) *appsv1.ReplicaSet {
		one := int32(1)
		return &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", UID: "rs1"},
			Spec: appsv1.ReplicaSetSpec{Replicas: &one},
			Status: appsv1.ReplicaSetStatus{Replicas: 1, FullyLabeledReplicas: 1, AvailableReplicas: ready,
				ReadyReplicas: ready}}
	}
	one := madeBy("web-2", "p2", fixtest.Now, nil)
	evicted := &v1alpha1.WriteRecord{Action: v1alpha1.ActionEvict, UID: "older", HealthBefore: "Current",
		Controller: &v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "ReplicaSet", Namespace: "shop", Name: "rs",
			UID: "rs1"}}
	there := &v1alpha1.WriteRecord{Action: v1alpha1.ActionDelete, UID: "u1"}
	cases := map[string]struct {
		write   *v1alpha1.WriteRecord
		objects []client.Object
		stopped bool
		want    rollout.CheckResult
	}{
		"the Pod is gone, its controller is well": {evicted, []client.Object{controller(1), one}, false,
			rollout.CheckPassed},
		"the Pod is gone, its controller isn't well": {evicted, []client.Object{controller(0), one}, false,
			rollout.CheckWaiting},
		"the Pod is gone, and its controller": {evicted, nil, false, rollout.CheckPassed},
		"the object is still there":           {there, nil, false, rollout.CheckWaiting},
		"another object of its name, policy changed": {
			&v1alpha1.WriteRecord{Action: v1alpha1.ActionDelete, UID: "older"}, nil, true, rollout.CheckPassed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.objects...)
			b.pass.Snapshot = known(t, untainted())
			obj, err := b.pass.Targets.Read(t.Context(), b.target)
			if got := b.pass.checkRemoved(t.Context(), tc.write, obj, err, tc.stopped); got.Result != tc.want ||
				got.Message == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestRulesFor(t *testing.T) {
	on := func(apiVersion, kind, namespace string) v1alpha1.ObjectReference {
		return v1alpha1.ObjectReference{APIVersion: apiVersion, Kind: kind, Namespace: namespace}
	}
	cases := map[string]struct {
		reason  string
		target  v1alpha1.ObjectReference
		allowed []v1alpha1.ActionType
		want    map[string][]string
	}{
		"a patch": {"as ever", on("apps/v1", "Deployment", "a"), []v1alpha1.ActionType{"Patch"},
			map[string][]string{"": {"get", "patch"}}},
		"a restart and a scaling": {"they are patches, asked for once", on("apps/v1", "Deployment", "a"),
			[]v1alpha1.ActionType{"Restart", "Scale"}, map[string][]string{"": {"get", "patch"}}},
		"a deletion": {"undoing it creates", on("v1", "ConfigMap", "a"), []v1alpha1.ActionType{"Delete"},
			map[string][]string{"": {"get", "delete", "create"}}},
		"an eviction": {"of the Pod's subresource", on("v1", "Pod", "a"), []v1alpha1.ActionType{"Evict"},
			map[string][]string{"": {"get"}, "eviction": {"create"}}},
		"an eviction of other kind": {"it can't be", on("apps/v1", "Deployment", "a"), []v1alpha1.ActionType{"Evict"},
			map[string][]string{"": {"get"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := map[string][]string{}
			for _, r := range permissions.OnTargets([]v1alpha1.ObjectReference{tc.target, tc.target}, tc.allowed) {
				got[r.Subresource] = r.Verbs
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}
