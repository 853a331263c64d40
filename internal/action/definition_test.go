// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

type tree = map[string]any

func at() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.FixedZone("", 3600)) }

func workload(template tree) tree {
	return tree{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": tree{"name": "web", "namespace": "shop"},
		"spec": tree{"replicas": int64(1), "template": template}}
}

func made(kind string, metadata tree) policy.Action {
	return policy.Action{Type: policy.ActionCreate,
		Object: tree{"apiVersion": "v1", "kind": kind, "metadata": metadata}}
}

func pod(metadata tree) tree { return tree{"apiVersion": "v1", "kind": "Pod", "metadata": metadata} }

func controlled() tree {
	return tree{"name": "web-1",
		"ownerReferences": []any{tree{"kind": "ReplicaSet", "name": "web", "controller": true}}}
}

func TestSteps(t *testing.T) {
	restarted := policy.PatchOp{Op: "add", HasValue: true, Value: "2026-03-01T11:00:00Z",
		Path: "/spec/template/metadata/annotations/kubectl.kubernetes.io~1restartedAt"}
	remove := policy.PatchOp{Op: "remove", Path: "/spec/paused"}
	restart, scale := policy.Action{Type: policy.ActionRestart}, policy.Action{Type: policy.ActionScale, Replicas: 3}
	scaled := policy.PatchOp{Op: "replace", Path: "/spec/replicas", Value: int64(3), HasValue: true}
	annotated := workload(tree{"metadata": tree{"annotations": tree{"a": "b"}}, "spec": tree{}})
	cases := map[string]struct {
		reason  string
		object  tree
		actions []policy.Action
		want    []action.Step
	}{
		"a restart is an annotation in UTC": {"as kubectl writes it", annotated, []policy.Action{restart},
			[]action.Step{{Type: v1alpha1.ActionPatch, Ops: []policy.PatchOp{restarted}}}},
		"a restart makes the annotations that are missing": {"an add needs its parent",
			workload(tree{"metadata": tree{"labels": tree{}}, "spec": tree{}}), []policy.Action{restart},
			[]action.Step{{Type: v1alpha1.ActionPatch,
				Ops: []policy.PatchOp{{Op: "add", HasValue: true, Path: "/spec/template/metadata/annotations",
					Value: tree{action.RestartedAt: "2026-03-01T11:00:00Z"}}}}}},
		"a restart makes the metadata that is missing": {"an add needs its parent", workload(tree{"spec": tree{}}),
			[]policy.Action{restart},
			[]action.Step{{Type: v1alpha1.ActionPatch,
				Ops: []policy.PatchOp{{Op: "add", HasValue: true, Path: "/spec/template/metadata",
					Value: tree{"annotations": tree{action.RestartedAt: "2026-03-01T11:00:00Z"}}}}}}},
		"a restart and a scaling are one write": {"one write is one rollout of the workload", annotated,
			[]policy.Action{scale, restart},
			[]action.Step{{Type: v1alpha1.ActionPatch, Ops: []policy.PatchOp{scaled, restarted}}}},
		"a scaling to what is there is no write": {
			"nothing would change", annotated, []policy.Action{{Type: policy.ActionScale, Replicas: 1}}, nil},
		"a restart sees what a patch has made": {
			"else it would replace the annotation", workload(tree{"metadata": tree{}, "spec": tree{}}),
			[]policy.Action{restart,
				{Type: policy.ActionPatch,
					Ops: []policy.PatchOp{
						{Op: "add", Path: "/spec/template/metadata/annotations", Value: tree{"a": "b"},
							HasValue: true}}}}[1:],
			[]action.Step{{Type: v1alpha1.ActionPatch,
				Ops: []policy.PatchOp{
					{Op: "add", Path: "/spec/template/metadata/annotations", Value: tree{"a": "b"}, HasValue: true}}}}},
		"creations come first, the status after the object": {"what is made is there when it is needed",
			tree{"kind": "Widget", "metadata": tree{"namespace": "shop"}, "spec": tree{"paused": true},
				"status": tree{"x": true}},
			[]policy.Action{
				{Type: policy.ActionPatch, Subresource: "status",
					Ops: []policy.PatchOp{{Op: "remove", Path: "/status/x"}}},
				{Type: policy.ActionPatch, Ops: []policy.PatchOp{remove}}, made("ConfigMap", tree{"name": "c"})},
			[]action.Step{
				{Type: v1alpha1.ActionCreate, Object: made("ConfigMap", tree{"name": "c"}).Object},
				{Type: v1alpha1.ActionPatch, Ops: []policy.PatchOp{remove}},
				{Type: v1alpha1.ActionPatch, Subresource: "status",
					Ops: []policy.PatchOp{{Op: "remove", Path: "/status/x"}}}}},
		"a Pod with a controller is evicted": {"its controller makes another", pod(controlled()),
			[]policy.Action{{Type: policy.ActionEvict}},
			[]action.Step{{Type: v1alpha1.ActionEvict}}},
		"a deletion keeps what makes the object again": {"without what the server keeps",
			tree{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "b"}, "status": tree{},
				"metadata": tree{"name": "c", "uid": "u", "resourceVersion": "1", "finalizers": []any{"f"},
					"labels": tree{"l": "1"}}},
			[]policy.Action{{Type: policy.ActionDelete}},
			[]action.Step{{Type: v1alpha1.ActionDelete,
				Object: tree{"apiVersion": "v1", "kind": "ConfigMap", "data": tree{"a": "b"},
					"metadata": tree{"name": "c", "finalizers": []any{"f"}, "labels": tree{"l": "1"}}}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := text(tc.object)
			steps, after, err := action.Steps(tc.object, tc.actions, at())
			if diff := cmp.Diff(tc.want, steps); diff != "" || err != nil {
				t.Errorf("%s: (-want +got)\n%s\n%v", tc.reason, diff, err)
			}
			if (after == nil) != action.Remove(tc.actions) {
				t.Errorf("after it: %v", after)
			}
			if text(tc.object) != before {
				t.Error("the object was changed")
			}
		})
	}
}

func TestPlanRefuses(t *testing.T) {
	one := func(t policy.ActionType) []policy.Action { return []policy.Action{{Type: t}} }
	widget := tree{"apiVersion": "example.com/v1", "kind": "Widget", "metadata": tree{"name": "w", "namespace": "shop"},
		"spec": tree{"a": "b"}}
	patch := policy.Action{Type: policy.ActionPatch, Ops: []policy.PatchOp{{Op: "remove", Path: "/spec/a"}}}
	kind := func(apiVersion, kind string) tree {
		return tree{"apiVersion": apiVersion, "kind": kind, "metadata": tree{}}
	}
	cases := map[string]struct {
		object  tree
		actions []policy.Action
		want    string
	}{
		"a restart of what has no pod template": {
			widget, one(policy.ActionRestart), "restart can't be carried out on a Widget: it has no pod template"},
		"a restart of what replaces no Pods": {kind("batch/v1", "Job"), one(policy.ActionRestart),
			"doesn't replace Pods"},
		"a scaling of what has no replicas": {widget, one(policy.ActionScale), "no whole number at /spec/replicas"},
		"an eviction of another kind":       {widget, one(policy.ActionEvict), "only Pods are evicted"},
		"an eviction of a Pod that nobody made": {pod(tree{"name": "p"}), one(policy.ActionEvict),
			"no controller made it"},
		"an eviction of a node's own Pod": {pod(tree{"annotations": tree{"kubernetes.io/config.mirror": "x"}}),
			one(policy.ActionEvict), "its node makes it"},
		"a deletion of a Namespace": {kind("v1", "Namespace"), one(policy.ActionDelete),
			"everything in it"},
		"a deletion of a volume": {kind("v1", "PersistentVolume"), one(policy.ActionDelete),
			"data that it holds"},
		"a deletion of a claim": {kind("v1", "PersistentVolumeClaim"), one(policy.ActionDelete),
			"data that it holds"},
		"a deletion of a kind": {kind("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
			one(policy.ActionDelete), "all objects of its kind"},
		"a deletion of a Secret": {kind("v1", "Secret"), one(policy.ActionDelete),
			"couldn't be made again"},
		"a deletion of a Node": {kind("v1", "Node"), one(policy.ActionDelete), "every Pod on it"},
		"a deletion of our own kinds": {kind("evenkeel.dev/v1alpha1", "ClusterRegoPolicy"),
			one(policy.ActionDelete), "Evenkeel's own kinds"},
		"a creation of a Secret": {widget, []policy.Action{made("Secret", tree{"name": "s"})},
			"a Secret's values"},
		"a creation in another namespace": {
			widget, []policy.Action{made("ConfigMap", tree{"name": "s", "namespace": "other"})},
			"its namespace must be the violating object's, shop"},
		"a creation with an owner": {
			widget, []policy.Action{made("ConfigMap", tree{"name": "s", "ownerReferences": []any{}})},
			"metadata.ownerReferences can't be given"},
		"a patch of what is deleted": {widget, []policy.Action{patch, {Type: policy.ActionDelete}},
			"delete can't be combined"},
		"two removals": {
			pod(controlled()), []policy.Action{{Type: policy.ActionDelete}, {Type: policy.ActionEvict}},
			"can't be combined"},
		"more writes than a record holds": {widget, manyCreations(9), "at most 8"},
		"a patch that doesn't apply":      {widget, []policy.Action{patch, patch}, "doesn't apply"},
		"a verb of nobody":                {widget, one("destroy"), `action "destroy" isn't known`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if _, _, err := action.Steps(tc.object, tc.actions, at()); err == nil ||
				!strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want %q", err, tc.want)
			}
		})
	}
}

func manyCreations(n int) []policy.Action {
	var out []policy.Action
	for i := range n {
		out = append(out, made("ConfigMap", tree{"name": strings.Repeat("x", i+1)}))
	}
	return out
}

func TestEveryVerbSaysWhatItNeedsAndHowItIsUndone(t *testing.T) {
	allowed := map[v1alpha1.ActionType]bool{}
	for _, v := range action.Definitions() {
		allowed[v.Allowed] = true
		if v.Describe(policy.Action{Type: v.Type, Object: tree{}}, 1) == "" && v.Type != policy.ActionPatch {
			t.Errorf("%s has no description", v.Type)
		}
		if (v.NoUndo != "") != (v.Type == policy.ActionEvict) {
			t.Errorf("%s: undo %q", v.Type, v.NoUndo)
		}
		if v.Owned && v.Type != policy.ActionEvict {
			t.Errorf("%s reaches objects of a controller", v.Type)
		}
	}
	if len(allowed) != 6 {
		t.Errorf("verbs %v", allowed)
	}
}

func TestForbidden(t *testing.T) {
	actions := []policy.Action{{Type: policy.ActionPatch}, {Type: policy.ActionEvict}}
	if verb, add, forbidden := action.Forbidden([]v1alpha1.ActionType{v1alpha1.ActionPatch}, actions); !forbidden ||
		verb != "evict" || add != "Evict" {
		t.Errorf("got %s, %s, %t", verb, add, forbidden)
	}
	if _, _, forbidden := action.Forbidden([]v1alpha1.ActionType{"Evict", "Patch"}, actions); forbidden {
		t.Error("both are allowed")
	}
	if !action.ReachOwned(actions[1:]) || action.ReachOwned(actions) || action.ReachOwned(nil) {
		t.Error("evict alone reaches the objects of a controller")
	}
	evict := []v1alpha1.ActionType{v1alpha1.ActionEvict}
	if !action.MayReachOwned(evict, "", "Pod") || action.MayReachOwned(evict, "apps", "ReplicaSet") {
		t.Error("evict reaches Pods alone")
	}
}

func TestHolds(t *testing.T) {
	object := tree{"data": tree{"a": "1", "b": "2"}, "list": []any{tree{"n": int64(1), "defaulted": true}}}
	cases := map[string]struct {
		manifest tree
		want     bool
	}{
		"what the server added doesn't count": {tree{"data": tree{"a": "1"}, "list": []any{tree{"n": int64(1)}}}, true},
		"another value":                       {tree{"data": tree{"a": "2"}}, false},
		"a field that is missing":             {tree{"data": tree{"c": "3"}}, false},
		"a list of another length":            {tree{"list": []any{}}, false},
		"another type":                        {tree{"data": "a"}, false},
	}
	for name, tc := range cases {
		if got := action.Holds(object, tc.manifest); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestBeyond(t *testing.T) {
	fields := func(paths ...string) (out []action.Field) {
		for _, p := range paths {
			out = append(out, action.Field{Path: p})
		}
		return out
	}
	cases := map[string]struct {
		fix, changed []action.Field
		want         string
	}{
		"the same":                        {fields("/spec/a"), fields("/spec/a"), ""},
		"a default within what was added": {fields("/spec/a"), fields("/spec/a/b"), ""},
		"a list that changed as a whole":  {fields("/spec/a/0"), fields("/spec/a"), ""},
		"a namesake":                      {fields("/spec/a"), fields("/spec/a", "/spec/ab"), "/spec/ab"},
		"a webhook's own label": {fields("/spec/a"), fields("/metadata/labels/x", "/spec/a"),
			"/metadata/labels/x"},
	}
	for name, tc := range cases {
		if got, more := action.Beyond(tc.fix, tc.changed); got != tc.want || more != (tc.want != "") {
			t.Errorf("%s: got %q, %t", name, got, more)
		}
	}
}

// A restart or a scaling, like any patch, is undone exactly.
func TestPlannedPatchesAreUndoneExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		object := objects().Draw(t, "object")
		object["apiVersion"], object["kind"] = "apps/v1", "Deployment"
		template := tree{"spec": tree{}}
		if rapid.Bool().Draw(t, "annotated") {
			template["metadata"] = tree{"annotations": values(1).Filter(isMap).Draw(t, "annotations")}
		}
		object["spec"] = tree{"replicas": int64(rapid.IntRange(0, 3).Draw(t, "replicas")), "template": template}
		steps, after, err := action.Steps(object, []policy.Action{{Type: policy.ActionRestart},
			{Type: policy.ActionScale, Replicas: int64(rapid.IntRange(0, 3).Draw(t, "to"))}}, at())
		if err != nil || len(steps) != 1 {
			t.Fatalf("%v, %v", steps, err)
		}
		fields := action.Diff(object, after)
		written := stored(object, after)
		back := mustApply(t, written, action.Inverse(written, action.Keys(object, fields), fields))
		if diff := cmp.Diff(plain(object), plain(back)); diff != "" {
			t.Fatalf("not restored (-before +restored):\n%s", diff)
		}
	})
}

// A status is told apart from the rest, and is undone exactly.
func TestStatusPatchesAreUndoneExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := objects().Draw(t, "object")
		before["status"] = values(3).Filter(isMap).Draw(t, "status")
		after := clone(before)
		after["status"] = values(3).Filter(isMap).Draw(t, "new status")
		if len(action.Diff(before, after)) > 0 {
			t.Fatal("the status counts as a part of the object")
		}
		fields := action.DiffStep(before, after, "status")
		after["metadata"].(tree)["resourceVersion"] = "8"
		back := mustApply(t, after, action.Inverse(after, action.Keys(before, fields), fields))
		if diff := cmp.Diff(plain(before), plain(back)); diff != "" {
			t.Fatalf("not restored (-before +restored):\n%s", diff)
		}
	})
}
