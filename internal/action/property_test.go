// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

// written is a fix that was written to an object.
type written struct {
	before, after map[string]any // after as the API server stored it
	ops, keys     []policy.PatchOp
	fields        []action.Field
}

func drawWritten(t *rapid.T) written {
	w := written{before: objects().Draw(t, "object")}
	w.ops = patches(w.before).Draw(t, "patch")
	patched := mustApply(t, w.before, w.ops)
	w.fields = action.Diff(w.before, patched)
	w.keys = action.Keys(w.before, w.fields)
	w.after = stored(w.before, patched)
	return w
}

func (w written) forward() []policy.PatchOp { return action.Forward(w.before, w.ops, w.keys, w.fields) }

func TestInverseRestoresExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWritten(t)
		if diff := cmp.Diff(plain(w.after), plain(mustApply(t, w.before, w.forward()))); diff != "" {
			t.Fatalf("the guards change what the patch does (-without +with):\n%s", diff)
		}
		recs, err := action.ToRecordFields(w.fields)
		if err != nil {
			t.Fatal(err)
		}
		fields, err := action.FromRecordFields(recs)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(w.fields, fields); diff != "" {
			t.Fatalf("fields differ after a round through the API (-want +got):\n%s", diff)
		}
		back := mustApply(t, w.after, action.Inverse(w.after, w.keys, fields))
		if diff := cmp.Diff(plain(w.before), plain(back)); diff != "" {
			t.Fatalf("not restored (-before +restored):\n%s\npatch %+v\nfields %+v", diff, w.ops, w.fields)
		}
	})
}

func TestDigestsTellTheSides(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWritten(t)
		before, err := action.DigestBefore(w.fields)
		if err != nil {
			t.Fatal(err)
		}
		after, err := action.DigestAfter(w.fields)
		if err != nil {
			t.Fatal(err)
		}
		if before == after {
			t.Fatalf("one digest for both sides of %+v", w.fields)
		}
		for want, obj := range map[string]map[string]any{before: w.before, after: w.after} {
			if got := observed(t, obj, w.fields); got != want {
				t.Fatalf("digest of %s is %s, want %s", text(obj), got, want)
			}
		}
	})
}

func observed(t *rapid.T, obj map[string]any, fields []action.Field) string {
	digest, err := action.DigestAfter(action.Observe(obj, fields))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

// Between the read and the write, another write to a field of ours, a replaced
// object, or a new generation must make the API server refuse the whole patch.
func TestPatchesRefuseARace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWritten(t)
		read, ops := w.before, w.forward()
		if rapid.Bool().Draw(t, "undoing") {
			read, ops = w.after, action.Inverse(w.after, w.keys, w.fields)
		}
		mustApply(t, read, ops)
		raced := clone(read)
		switch rapid.IntRange(0, 2).Draw(t, "race") {
		case 0:
			raced["metadata"].(map[string]any)["uid"] = "u2"
		case 1:
			f := rapid.SampledFrom(w.fields).Draw(t, "field")
			raced = stored(read, overwrite(read, f.Path))
		case 2:
			// Every write makes a new resourceVersion; only some a new generation.
			raced["metadata"].(map[string]any)["resourceVersion"] = "8"
			if _, found := action.Lookup(raced, "/metadata/generation"); found {
				raced["metadata"].(map[string]any)["generation"] = int64(99)
			}
		}
		if out, err := action.Apply(raced, patchOf(ops...)); err == nil {
			t.Fatalf("the patch went through\nread  %s\nraced %s\npatch %+v\nout   %s", text(read), text(raced), ops,
				text(out))
		}
	})
}

// overwrite sets a place to a value that no generator makes, whether or not
// something is there; where there is no such place any more, its parent's.
func overwrite(obj map[string]any, path string) map[string]any {
	for {
		_, found := action.Lookup(obj, path)
		op := policy.PatchOp{Op: "add", Path: path, Value: "theirs", HasValue: true}
		if found {
			op.Op = "replace"
		}
		if out, err := action.Apply(obj, patchOf(op)); err == nil {
			return out
		}
		path = path[:strings.LastIndex(path, "/")]
	}
}

// Somebody else changes another place before the rollback reads the object:
// their change is kept, or the rollback refuses. Outside of lists it is kept.
func TestInverseKeepsOtherChanges(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWritten(t)
		path := rapid.SampledFrom(touchable(w.after)).Draw(t, "place")
		if slices.ContainsFunc(w.fields, func(f action.Field) bool { return overlap(path, f.Path) }) {
			t.Skip("the place is one of the fix's")
		}
		theirs := overwrite(w.after, path)
		read := stored(w.after, theirs)
		if got, want := observed(t, read, w.fields), observed(t, w.after, w.fields); got != want {
			t.Fatalf("a change of %s counts as a change of the fix's fields", path)
		}
		back, err := action.Apply(read, patchOf(action.Inverse(read, w.keys, w.fields)...))
		inList := slices.ContainsFunc(w.keys, func(k policy.PatchOp) bool { return overlap(path, k.Path) })
		if err != nil && inList {
			return // an element that can't be told from another: left alone
		}
		if err != nil {
			t.Fatalf("a change of %s makes the inverse fail: %v", path, err)
		}
		if diff := cmp.Diff(plain(overwrite(w.before, path)), plain(back)); diff != "" {
			t.Fatalf("-want +got:\n%s", diff)
		}
	})
}

func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// Somebody reorders the list between the write and the rollback: the right
// element is restored, or none.
func TestReorderedListIsNeverPatchedAtTheWrongElement(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []any
		for range rapid.IntRange(2, 4).Draw(t, "length") {
			list = append(list, alike().Draw(t, "element"))
		}
		before := map[string]any{
			"metadata": map[string]any{"uid": "u1", "resourceVersion": "1", "generation": int64(1)},
			"spec":     map[string]any{}, "list": list}
		at := "/list/" + rapid.SampledFrom([]string{"0", "1"}).Draw(t, "index")
		element, _ := action.Lookup(before, at)
		path := rapid.SampledFrom(places(at, element)).Draw(t, "place")
		value := rapid.OneOf(alike(), rapid.Just[any](int64(0)), rapid.Just[any](int64(1)))
		patched := mustApply(t, before,
			[]policy.PatchOp{{Op: "replace", Path: path, Value: value.Draw(t, "value"), HasValue: true}})
		fields := action.Diff(before, patched)
		if len(fields) == 0 {
			t.Skip("nothing changes")
		}
		keys := action.Keys(before, fields)
		read := clone(patched)
		read["list"] = rapid.Permutation(read["list"].([]any)).Draw(t, "reordered")
		if observed(t, read, fields) != observed(t, patched, fields) {
			return // seen as a conflict before anything is sent
		}
		back, err := action.Apply(read, patchOf(action.Inverse(read, keys, fields)...))
		if err != nil {
			return // refused
		}
		if diff := cmp.Diff(elements(before), elements(back)); diff != "" {
			t.Fatalf("the wrong element was set back (-want +got, as sets):\n%s\nread %s\nfields %+v\nkeys %+v", diff,
				text(read), fields, keys)
		}
	})
}

// alike values are easily mistaken for one another.
func alike() *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		member := rapid.OneOf(rapid.Just[any](int64(0)), rapid.Just[any](int64(1)),
			rapid.Just[any](map[string]any{"c": int64(0)}),
			rapid.Just[any](map[string]any{"c": int64(1)}), rapid.Just[any]([]any{int64(0), int64(1)}))
		element := map[string]any{"a": member.Draw(t, "a"), "b": member.Draw(t, "b")}
		if rapid.Bool().Draw(t, "named") {
			element["name"] = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "name")
		}
		return element
	})
}

func elements(obj map[string]any) []string {
	var out []string
	for _, e := range obj["list"].([]any) {
		out = append(out, text(e))
	}
	slices.Sort(out)
	return out
}
