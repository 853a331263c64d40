// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	policyv1 "k8s.io/api/policy/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
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

func TestARemovalThatArrivesLateIsOurs(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "web")
	live, replaced := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	live.SetUID("u1")
	replaced.SetUID("u2")
	deleted := &v1alpha1.WriteRecord{Action: v1alpha1.ActionDelete, UID: "u1"}
	cases := map[string]struct {
		write *v1alpha1.WriteRecord
		obj   *unstructured.Unstructured
		err   error
		want  bool
	}{
		"the object is gone":           {deleted, nil, gone, true},
		"the object was replaced":      {deleted, replaced, nil, true},
		"the object is there":          {deleted, live, nil, false},
		"the object can't be read":     {deleted, nil, errors.New("timeout"), false},
		"only a patch was recorded":    {&v1alpha1.WriteRecord{UID: "u1"}, nil, gone, false},
		"nothing was recorded earlier": {nil, nil, gone, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &attempt{targets: targetsAt(waiverNow),
				previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Write: tc.write.DeepCopy()}}
			rec := a.lateRemoval(tc.obj, tc.err)
			if (rec != nil) != tc.want || rec != nil && rec.State != v1alpha1.TargetApplied {
				t.Errorf("got %+v", rec)
			}
		})
	}
}

func TestWaitingForADisruptionBudgetIsNoTry(t *testing.T) {
	refused := apierrors.NewTooManyRequests("Cannot evict pod as it would violate the pod's disruption budget.", 10)
	refused.ErrStatus.Details.Causes = []metav1.StatusCause{
		{Type: policyv1.DisruptionBudgetCause, Message: "The disruption budget web needs 1 healthy pods"}}
	ago := func(d time.Duration) *metav1.MicroTime {
		at := metav1.NewMicroTime(waiverNow.Add(-d))
		return &at
	}
	cases := map[string]struct {
		err   error
		since *metav1.MicroTime
		want  v1alpha1.TargetState
		why   string
		tries int32
	}{
		"refused for the first time": {refused, nil, v1alpha1.TargetPending, v1alpha1.ReasonDisruptionBudget, 0},
		"refused within the deadline": {refused, ago(time.Minute), v1alpha1.TargetPending,
			v1alpha1.ReasonDisruptionBudget, 0},
		"refused after the deadline": {refused, ago(2 * time.Minute), v1alpha1.TargetFailed,
			v1alpha1.ReasonDisruptionBudget, 0},
		"a server that throttles is a try": {apierrors.NewTooManyRequests("slow down", 1), nil, v1alpha1.TargetPending,
			"Retrying", 1},
		"a denial while it waited is final": {
			apierrors.NewForbidden(schema.GroupResource{}, "", errors.New(`admission webhook "x" denied the request`)),
			ago(time.Minute), v1alpha1.TargetFailed, v1alpha1.ReasonAdmissionDenied, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := &attempt{targets: targetsAt(waiverNow),
				previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending, Reason: v1alpha1.ReasonDisruptionBudget,
					WaitingSince: tc.since}}
			a.plan.Strategy.SetDefaults()
			a.plan.Strategy.ProgressDeadline = metav1.Duration{Duration: 90 * time.Second}
			got := a.fromError(tc.err)
			if got.State != tc.want || got.Reason != tc.why || got.Attempts != tc.tries {
				t.Errorf("%s (%s), %d tries: %s", got.State, got.Reason, got.Attempts, got.Message)
			}
			waits := got.Reason == v1alpha1.ReasonDisruptionBudget && got.State == v1alpha1.TargetPending
			if waits && tc.since != nil && !got.WaitingSince.Equal(tc.since) || waits != (got.WaitingSince != nil) {
				t.Errorf("waiting since %v, from %v", got.WaitingSince, tc.since)
			}
		})
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
	one := madeBy("web-2", "p2", waiverNow, nil)
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
			b.pass.snapshot = untainted(t)
			obj, err := b.pass.targets.read(t.Context(), b.target)
			if got := b.pass.checkRemoved(t.Context(), tc.write, obj, err, tc.stopped); got.Result != tc.want ||
				got.Message == "" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestWhatIsCreatedOrDeletedCountsInTheRecord(t *testing.T) {
	for size, want := range map[int]string{1 << 10: "", 1 << 20: v1alpha1.ReasonFixTooLarge} {
		a := &attempt{targets: targetsAt(waiverNow), writes: []*write{{}}}
		a.writes[0].record.Manifest = &apiextensionsv1.JSON{Raw: []byte(strings.Repeat("x", size))}
		got := ""
		if rec := recordWithinLimit(t.Context(), a); rec != nil {
			got = rec.Reason
		}
		if got != want {
			t.Errorf("a manifest of %d bytes: %q, want %q", size, got, want)
		}
	}
}

func TestAMissingRightIsAwaitedButNotByAPreview(t *testing.T) {
	for mode, want := range map[v1alpha1.RemediationMode]v1alpha1.TargetState{
		v1alpha1.RemediationAutomatic: v1alpha1.TargetPending, v1alpha1.RemediationManual: v1alpha1.TargetPending,
		v1alpha1.RemediationDryRun: v1alpha1.TargetFailed,
	} {
		a := &attempt{targets: targetsAt(waiverNow)}
		a.plan.Strategy.Mode = mode
		rec := a.awaitPermissions("{verbs}")
		if rec.State != want || rec.Reason != v1alpha1.ReasonMissingPermission || rec.Attempts != 0 ||
			!strings.Contains(rec.Message, "{verbs}") {
			t.Errorf("%s: %+v", mode, rec)
		}
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

// A fix may change no field that it doesn't name, and must still resolve the violation once the
// server has had its say.
func TestOnlyWhatTheFixSays(t *testing.T) {
	fix := []policy.PatchOp{{Op: "add", Path: "/metadata/labels/owner", Value: "x", HasValue: true}}
	cases := map[string]struct {
		reason string
		stored map[string]any
		want   string
	}{
		"the server stores what is asked for": {"it may go on", map[string]any{"owner": "x"}, ""},
		"a webhook adds a label of its own": {"the fix doesn't name it", map[string]any{"owner": "x", "team": "y"},
			v1alpha1.ReasonFixChangesMore},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			a := attemptAt(waived(t, "team", waiverNow.Add(time.Hour)), widget(map[string]any{}))
			w := &write{Step: action.Step{Type: policy.ActionPatch, Ops: fix}, object: a.object}
			stored := widget(tc.stored)
			w.fields = action.Diff(a.object.Object, stored.Object)
			got := ""
			if rec := a.onlyWhatItSays(context.Background(), w, stored); rec != nil {
				got = rec.Reason
			}
			if got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}
