// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

func tests(path string, value any) policy.PatchOp {
	return policy.PatchOp{Op: "test", Path: path, Value: value, HasValue: true}
}

func deployment() obj {
	return obj{"metadata": obj{"uid": "u1", "resourceVersion": "7", "generation": int64(3),
		"labels": obj{"app": "web"}},
		"spec": obj{"containers": []any{container("a", "1"), container("b", "1")}}}
}

func TestKeys(t *testing.T) {
	nested := obj{"c": []any{
		obj{"name": "a", "env": []any{obj{"name": "X", "value": "1"}, obj{"name": "Y", "value": "1"}}}},
		"args": []any{"x"}}
	fields := []action.Field{{Path: "/c/0/env/1/value"}, {Path: "/c/0/env/1/other"}, {Path: "/c/0/image"},
		{Path: "/args/0"}, {Path: "/args/5"}, {Path: "/gone/0/x"}}
	want := []policy.PatchOp{tests("/c/0/name", "a"), tests("/c/0/env/1/name", "Y")}
	if diff := cmp.Diff(want, action.Keys(nested, fields)); diff != "" {
		t.Errorf("each named element on the way is tested once, outermost first (-want +got):\n%s", diff)
	}
}

func TestForwardAndInverse(t *testing.T) {
	image := action.Field{Path: "/spec/containers/1/image", Before: "1", After: "2", HasBefore: true, HasAfter: true}
	label := action.Field{Path: "/metadata/labels/team", After: "x", HasAfter: true}
	gone := action.Field{Path: "/spec/hostNetwork", Before: true, HasBefore: true}
	change := policy.PatchOp{Op: "replace", Path: "/spec/containers/1/image", Value: "2", HasValue: true}
	uid, generation, version := tests("/metadata/uid", "u1"), tests("/metadata/generation", int64(3)),
		tests("/metadata/resourceVersion", "7")
	key := tests("/spec/containers/1/name", "b")
	configMap := obj{"metadata": obj{"uid": "u1", "resourceVersion": "7"}, "data": obj{"x": "1"}}
	for name, tc := range map[string]struct {
		reason    string
		got, want []policy.PatchOp
	}{
		"forward tests identity, version, keys and old values first": {
			reason: "an opt-out that came since mustn't be missed, and the generation doesn't grow with it",
			got: action.Forward(deployment(), []policy.PatchOp{change}, []policy.PatchOp{key},
				[]action.Field{image}),
			want: []policy.PatchOp{uid, version, key, tests(image.Path, "1"), change}},
		"forward tests the version where a label appears": {
			reason: "the generation doesn't grow with labels, and absence can't be tested",
			got:    action.Forward(deployment(), nil, nil, []action.Field{label}),
			want:   []policy.PatchOp{uid, version}},
		"forward tests the version where there is no generation": {
			reason: "a ConfigMap has none",
			got: action.Forward(configMap, nil, nil,
				[]action.Field{{Path: "/data/x", Before: "1", HasBefore: true}}), want: []policy.PatchOp{uid, version,
				tests("/data/x", "1")}},
		"inverse tests our values, then sets the fields back, last first": {
			reason: "the order in which they were made is undone backwards",
			got:    action.Inverse(deployment(), []policy.PatchOp{key}, []action.Field{image, gone, label}),
			want: []policy.PatchOp{uid, generation, key, tests(image.Path, "2"), tests(label.Path, "x"),
				{Op: "remove", Path: label.Path}, {Op: "add", Path: gone.Path, Value: true, HasValue: true},
				{Op: "replace", Path: image.Path, Value: "1", HasValue: true}}},
		"inverse tests the version where a label must appear again": {
			reason: "somebody may have set it meanwhile",
			got:    action.Inverse(deployment(), nil, []action.Field{{Path: label.Path, Before: "x", HasBefore: true}}),
			want:   []policy.PatchOp{uid, version, {Op: "add", Path: label.Path, Value: "x", HasValue: true}}},
		"inverse leaves out keys within its fields": {
			reason: "the fix has changed them",
			got: action.Inverse(deployment(), []policy.PatchOp{key},
				[]action.Field{{Path: "/spec/containers/1", HasAfter: true}}),
			want: []policy.PatchOp{uid, generation, tests("/spec/containers/1", nil),
				{Op: "remove", Path: "/spec/containers/1"}}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, tc.got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDescribe(t *testing.T) {
	ops := []policy.PatchOp{{Op: "add", Path: "/a"}, {Op: "remove", Path: "/b"}, {Op: "test", Path: "/c"}}
	for limit, want := range map[int]string{3: "add /a, remove /b, test /c", 1: "add /a and 2 more"} {
		if got := action.DescribeOps(ops, limit); got != want {
			t.Errorf("Describe(%d) = %q, want %q", limit, got, want)
		}
	}
}

func TestRecordOpsComeBack(t *testing.T) {
	ops := []policy.PatchOp{{Op: "add", Path: "/a", Value: obj{"x": []any{int64(1), 1.5, "s"}}, HasValue: true},
		{Op: "test", Path: "/n", HasValue: true},
		{Op: "move", From: "/a", Path: "/b"}, {Op: "remove", Path: "/b"},
		{Op: "replace", Path: "/f", Value: false, HasValue: true}}
	recs, err := action.ToRecordOps(ops)
	if err != nil {
		t.Fatal(err)
	}
	got, err := action.FromRecordOps(recs)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ops, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	recs[0].Value.Raw = []byte("{")
	if _, err := action.FromRecordOps(recs); err == nil {
		t.Error("a record that isn't JSON must be an error")
	}
}
