// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

const markKey = v1alpha1.AnnotationLastRemediation

// annotated is an object with annotations, or without any for nil; as the API server has it.
func annotated(annotations obj) obj {
	metadata := obj{"name": "web", "uid": "u1", "resourceVersion": "7", "generation": int64(1)}
	if len(annotations) > 0 {
		metadata["annotations"] = maps.Clone(annotations)
	}
	return obj{"apiVersion": "v1", "kind": "Thing", "metadata": metadata, "spec": obj{"replicas": int64(1)}}
}

// served is what the API server makes of a patch.
func served(t *testing.T, before map[string]any, ops []policy.PatchOp) map[string]any {
	t.Helper()
	out := mustApply(t, before, ops)
	metadata := out["metadata"].(map[string]any)
	if annotations, is := metadata["annotations"].(map[string]any); is && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return out
}

// markedFixes are fixes of an object with the annotation "theirs", or without: what it does to
// annotations is where the mark could be taken for a part of it.
func markedFixes(has bool) map[string][]policy.PatchOp {
	spec := policy.PatchOp{Op: "replace", Path: "/spec/replicas", Value: int64(2), HasValue: true}
	all := map[string][]policy.PatchOp{"the spec": {spec}, "all annotations": {spec, {Op: "add",
		Path: "/metadata/annotations", Value: map[string]any{"fixed": "yes"}, HasValue: true}}}
	if has {
		all["an annotation more"] = []policy.PatchOp{
			{Op: "add", Path: "/metadata/annotations/fixed", Value: "yes", HasValue: true}}
		all["an annotation less"] = []policy.PatchOp{{Op: "remove", Path: "/metadata/annotations/theirs"}}
		all["no annotations"] = []policy.PatchOp{spec, {Op: "remove", Path: "/metadata/annotations"}}
	}
	return all
}

// Whatever the object and the fix have of annotations, and whatever somebody makes of the mark
// afterwards: the fix is the same with and without it, and so is what its undoing restores.
func TestAMarkIsNoPartOfAFixAndIsRestoredWithIt(t *testing.T) {
	befores := map[string]obj{"no annotations": nil, "another one": {"theirs": "1"}, "a mark": {markKey: "plan-a"},
		"a mark and another one": {markKey: "plan-a", "theirs": "1"},
		"this plan's mark":       {markKey: "plan-b", "theirs": "1"}}
	edits := map[string][]policy.PatchOp{"as it was written": nil,
		"somebody changed the mark": {{Op: "add", Path: "/metadata/annotations/evenkeel.dev~1last-remediation",
			Value: "me", HasValue: true}},
		"somebody removed the mark": {{Op: "remove", Path: "/metadata/annotations/evenkeel.dev~1last-remediation"}}}
	for name, annotations := range befores {
		for what, ops := range markedFixes(annotations["theirs"] != nil) {
			for edit, edited := range edits {
				t.Run(name+", "+what+", "+edit, func(t *testing.T) {
					checkMark(t, annotated(annotations), ops, edited)
				})
			}
		}
	}
}

func checkMark(t *testing.T, before map[string]any, ops, edited []policy.PatchOp) {
	m := action.MarkingOf(before, mustApply(t, before, ops), "plan-b")
	unmarked := served(t, action.Unmarked(before), ops)
	dryRun := served(t, before, m.Around(ops))
	fields := action.Diff(before, dryRun)
	if diff := cmp.Diff(action.Diff(action.Unmarked(before), unmarked), fields); diff != "" {
		t.Errorf("the fix isn't the same with the mark (-without +with):\n%s", diff)
	}
	after := served(t, before, action.Forward(before, m.Around(ops), nil, fields))
	if mark, _ := action.MarkOf(after); mark != "plan-b" {
		t.Errorf("it is marked %q", mark)
	}
	recorded, err := action.ToRecordOps(m.Around(ops))
	if err != nil {
		t.Fatal(err)
	}
	live := served(t, after, edited)
	now, has := action.MarkOf(live)
	want, marked := now, has
	if now == "plan-b" {
		want, marked = action.MarkOf(before)
	}
	for _, rec := range [][]v1alpha1.PatchOperation{recorded, action.MarkOnly(recorded)} {
		back, result := action.Undo(live, nil, fields, action.RecordedMark(rec))
		restored := served(t, live, back)
		if diff := cmp.Diff(plain(action.Unmarked(before)), plain(action.Unmarked(restored))); diff != "" {
			t.Errorf("not restored (-before +restored):\n%s", diff)
		}
		if diff := cmp.Diff(plain(restored), plain(result)); diff != "" {
			t.Errorf("the proof says something else (-restored +proof):\n%s", diff)
		}
		if mark, has := action.MarkOf(restored); mark != want || has != marked {
			t.Errorf("it is marked %q (%t), want %q (%t)", mark, has, want, marked)
		}
		raced := served(t, live, []policy.PatchOp{action.MarkingOf(live, live, "raced").Set[0]})
		if out, err := action.Apply(raced, patchOf(back...)); err == nil && now == "plan-b" && want != now {
			t.Errorf("it overwrites a mark that was set since: %s", text(out))
		}
	}
	if observedMark(t, live, fields) != observedMark(t, unmarked, fields) {
		t.Error("the mark counts as a change of the fix's fields")
	}
}

func observedMark(t *testing.T, object map[string]any, fields []action.Field) string {
	t.Helper()
	digest, err := action.DigestAfter(action.Observe(object, fields))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// A record of before there were marks says nothing of any, and neither does another patch.
func TestOnlyAMarkIsTakenForOne(t *testing.T) {
	path := "/metadata/annotations/evenkeel.dev~1last-remediation"
	for name, ops := range map[string][]policy.PatchOp{
		"nothing": nil, "the spec": {{Op: "replace", Path: "/spec/replicas", Value: int64(1), HasValue: true}},
		"other annotations": {{Op: "add", Path: "/metadata/annotations",
			Value: map[string]any{"a": "b"}, HasValue: true}},
		"more than the mark": {{Op: "add", Path: "/metadata/annotations",
			Value: map[string]any{markKey: "plan", "a": "b"}, HasValue: true}},
		"its removal":   {{Op: "remove", Path: path}},
		"no text at it": {{Op: "add", Path: path, Value: int64(1), HasValue: true}},
	} {
		recs, err := action.ToRecordOps(ops)
		if err != nil {
			t.Fatal(err)
		}
		if got := action.RecordedMark(recs); got != (action.Mark{}) || action.MarkOnly(recs) != nil {
			t.Errorf("%s: it is taken for %+v", name, got)
		}
	}
}

// Only the manager sets the mark; whoever removes all annotations doesn't set it.
func TestAFixThatSetsTheMarkIsTold(t *testing.T) {
	before := annotated(obj{markKey: "plan-a", "theirs": "1"})
	path := "/metadata/annotations/evenkeel.dev~1last-remediation"
	for name, tc := range map[string]struct {
		op   policy.PatchOp
		want bool
	}{
		"it is set":               {policy.PatchOp{Op: "add", Path: path, Value: "x", HasValue: true}, true},
		"it is set to what it is": {policy.PatchOp{Op: "add", Path: path, Value: "plan-a", HasValue: true}, true},
		"it is copied":            {policy.PatchOp{Op: "copy", From: path, Path: "/spec/x"}, true},
		"all are set": {policy.PatchOp{Op: "add", Path: "/metadata/annotations",
			Value: map[string]any{markKey: "x"}, HasValue: true}, true},
		"all are removed":          {policy.PatchOp{Op: "remove", Path: "/metadata/annotations"}, false},
		"another one is removed":   {policy.PatchOp{Op: "remove", Path: "/metadata/annotations/theirs"}, false},
		"the spec is written only": {policy.PatchOp{Op: "add", Path: "/spec/x", Value: "y", HasValue: true}, false},
	} {
		steps := []action.Step{{Type: v1alpha1.ActionPatch, Ops: []policy.PatchOp{tc.op}}}
		if got := action.SetsMark(before, mustApply(t, before, []policy.PatchOp{tc.op}), steps); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
