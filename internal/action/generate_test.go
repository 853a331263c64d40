// SPDX-License-Identifier: Apache-2.0

package action_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
)

// keyNames are awkward on purpose: both escapes of a JSON Pointer, and what
// encoding/json escapes.
func keyNames() []string { return []string{"a", "b", "name", "a/b", "m~n", "~1", "<&>", "0"} }

// values are JSON as the API server stores it: no null.
func values(depth int) *rapid.Generator[any] {
	return rapid.Custom(func(t *rapid.T) any {
		kind := rapid.IntRange(0, 5).Draw(t, "kind")
		if depth == 0 {
			kind %= 3
		}
		switch kind {
		case 0:
			return rapid.SampledFrom([]string{"", "x", "y", "a&b <c>"}).Draw(t, "string")
		case 1:
			return int64(rapid.IntRange(0, 3).Draw(t, "int"))
		case 2:
			return rapid.Bool().Draw(t, "bool")
		case 3:
			list := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "length") {
				list = append(list, values(depth-1).Draw(t, "element"))
			}
			return list
		default:
			m := map[string]any{}
			for range rapid.IntRange(0, 4).Draw(t, "size") {
				m[rapid.SampledFrom(keyNames()).Draw(t, "key")] = values(depth-1).Draw(t, "member")
			}
			return m
		}
	})
}

// objects are like those of the API server, with and without a generation.
func objects() *rapid.Generator[map[string]any] {
	return rapid.Custom(func(t *rapid.T) map[string]any {
		metadata := map[string]any{"name": "web", "uid": "u1", "resourceVersion": "7",
			"managedFields": []any{map[string]any{"manager": "kubectl"}}}
		if rapid.Bool().Draw(t, "hasGeneration") {
			metadata["generation"] = int64(3)
		}
		if rapid.Bool().Draw(t, "hasLabels") {
			metadata["labels"] = map[string]any{"app": "web", "a/b": "x"}
		}
		return map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": metadata,
			"status": map[string]any{"phase": "Up"},
			"spec":   values(4).Filter(isMap).Draw(t, "spec"), "list": values(3).Filter(isList).Draw(t, "list")}
	})
}

func isMap(v any) bool  { _, ok := v.(map[string]any); return ok }
func isList(v any) bool { _, ok := v.([]any); return ok }

// places are the JSON Pointers into a value, the deepest last.
func places(path string, v any) []string {
	out := []string{path}
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			out = append(out, places(action.Join(path, k), v[k])...)
		}
	case []any:
		for i := range v {
			out = append(out, places(fmt.Sprintf("%s/%d", path, i), v[i])...)
		}
	}
	return out
}

// touchable are the places that a fix may change.
func touchable(obj map[string]any) []string {
	out := append(places("/spec", obj["spec"]), places("/list", obj["list"])...)
	if labels, found := action.Lookup(obj, "/metadata/labels"); found {
		return append(out, places("/metadata/labels", labels)[1:]...)
	}
	return out
}

// patches are valid for obj, and change it.
func patches(obj map[string]any) *rapid.Generator[[]policy.PatchOp] {
	return rapid.Custom(func(t *rapid.T) []policy.PatchOp {
		var ops []policy.PatchOp
		now := obj
		for range rapid.IntRange(1, 5).Draw(t, "ops") {
			op := operation(t, now)
			next, err := action.Apply(now, patchOf(op))
			if err != nil || !isMap(next["spec"]) || !isList(next["list"]) {
				continue
			}
			ops, now = append(ops, op), next
		}
		if len(action.Diff(obj, now)) == 0 {
			t.Skip("the patch changes nothing")
		}
		return ops
	})
}

func operation(t *rapid.T, obj map[string]any) policy.PatchOp {
	path := rapid.SampledFrom(touchable(obj)).Draw(t, "path")
	from := rapid.SampledFrom(touchable(obj)).Draw(t, "from")
	value := values(2).Draw(t, "value")
	switch rapid.IntRange(0, 6).Draw(t, "op") {
	case 0, 1:
		return policy.PatchOp{Op: "replace", Path: path, Value: value, HasValue: true}
	case 2:
		return policy.PatchOp{Op: "remove", Path: path}
	case 3:
		return policy.PatchOp{Op: "copy", From: from, Path: path}
	case 4:
		return policy.PatchOp{Op: "move", From: from, Path: path}
	default:
		tokens := append(keyNames(), "-")
		return policy.PatchOp{Op: "add", Path: action.Join(path, rapid.SampledFrom(tokens).Draw(t, "token")),
			Value: value, HasValue: true}
	}
}

func patchOf(ops ...policy.PatchOp) []policy.Action {
	return []policy.Action{{Type: policy.ActionPatch, Ops: ops}}
}

// stored is what the API server makes of a write: a new resourceVersion, and a
// new generation when more than metadata and status changed.
func stored(before, after map[string]any) map[string]any {
	out := clone(after)
	metadata := out["metadata"].(map[string]any)
	metadata["resourceVersion"] = metadata["resourceVersion"].(string) + "+"
	metadata["managedFields"] = []any{map[string]any{"manager": "evenkeel"}}
	if generation, ok := metadata["generation"].(int64); ok &&
		digestOf(before, "metadata", "status") != digestOf(after, "metadata", "status") {
		metadata["generation"] = generation + 1
	}
	return out
}

// digestOf is a text of an object without some of its members.
func digestOf(obj map[string]any, without ...string) string {
	out := maps.Clone(obj)
	for _, k := range without {
		delete(out, k)
	}
	return text(out)
}

func text(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

func clone(obj map[string]any) map[string]any {
	var out map[string]any
	if err := utiljson.Unmarshal([]byte(text(obj)), &out); err != nil {
		panic(err)
	}
	return out
}

// plain is an object without what the server itself keeps.
func plain(obj map[string]any) map[string]any {
	out := clone(obj)
	metadata := out["metadata"].(map[string]any)
	for _, k := range []string{"resourceVersion", "generation", "managedFields"} {
		delete(metadata, k)
	}
	return out
}

func mustApply(t interface{ Fatalf(string, ...any) }, obj map[string]any, ops []policy.PatchOp) map[string]any {
	out, err := action.Apply(obj, patchOf(ops...))
	if err != nil {
		t.Fatalf("%v\n%s\n%+v", err, text(obj), ops)
	}
	return out
}
