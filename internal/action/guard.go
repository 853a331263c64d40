// SPDX-License-Identifier: Apache-2.0

package action

import (
	"slices"
	"strconv"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Keys returns test operations on the names of the list elements that the fields
// lie in, as they are in obj: a patch that carries them never hits another
// container than the one it was computed for. Diff sees to it that a field lies
// in no element that has no name of its own.
func Keys(obj map[string]any, fields []Field) []policy.PatchOp {
	var keys []policy.PatchOp
	seen := map[string]bool{}
	for _, f := range fields {
		path, node := "", any(obj)
		for _, token := range Tokens(f.Path) {
			path = Join(path, token)
			next, found := child(node, token)
			if !found {
				break
			}
			if _, inList := node.([]any); inList && !seen[path] {
				seen[path] = true
				if name, named := nameOf(next); named {
					keys = append(keys, test(Join(path, "name"), name))
				}
			}
			node = next
		}
	}
	return keys
}

// Forward is the patch to send: guards on the object's identity and version, the
// list keys and the old values, then the operations. It changes nothing unless
// nothing at all has changed since the object was read last, which was right
// before: not even a label that keeps us away. So it is refused, too, should it
// arrive after it was given up and somebody else has undone it.
func Forward(obj map[string]any, ops, keys []policy.PatchOp, fields []Field) []policy.PatchOp {
	out := append(Exact(obj), keys...)
	for _, f := range fields {
		if f.HasBefore {
			out = append(out, test(f.Path, withMark(f.Path, f.Before, obj)))
		}
	}
	return append(out, ops...)
}

// Inverse is the patch that sets every field back, last first, guarded by the
// values that the forward patch left: a field that somebody has changed since
// fails the patch as a whole.
func Inverse(obj map[string]any, keys []policy.PatchOp, fields []Field) []policy.PatchOp {
	out := append(identity(obj, fields, func(f Field) bool { return f.HasAfter }), survivingKeys(keys, fields)...)
	for _, f := range fields {
		if f.HasAfter {
			out = append(out, test(f.Path, withMark(f.Path, f.After, obj)))
		}
	}
	for _, f := range slices.Backward(fields) {
		switch {
		case f.HasBefore && f.HasAfter:
			out = append(out, policy.PatchOp{Op: "replace", Path: f.Path, Value: f.Before, HasValue: true})
		case f.HasBefore:
			out = append(out, policy.PatchOp{Op: "add", Path: f.Path, Value: f.Before, HasValue: true})
		default:
			out = append(out, policy.PatchOp{Op: "remove", Path: f.Path})
		}
	}
	return out
}

// survivingKeys leaves out keys within a field: the forward patch may have
// changed them, and the test on the field's value covers them.
func survivingKeys(keys []policy.PatchOp, fields []Field) []policy.PatchOp {
	return slices.DeleteFunc(slices.Clone(keys), func(k policy.PatchOp) bool {
		return slices.ContainsFunc(fields, func(f Field) bool { return within(k.Path, f.Path) })
	})
}

func within(path, outer string) bool {
	return path == outer || len(path) > len(outer) && path[:len(outer)] == outer && path[len(outer)] == '/'
}

// identity guards on the UID, and on the generation: it grows with every change
// of the spec but not of the status, so that a busy status doesn't make the
// guard fail. It doesn't grow with labels, annotations and the status either, and
// a JSON Patch can't test for absence: where a field under metadata or status is
// to appear, or the kind has no generation, the guard is the resourceVersion.
func identity(obj map[string]any, fields []Field, present func(Field) bool) []policy.PatchOp {
	generation, found := Lookup(obj, "/metadata/generation")
	if !found || slices.ContainsFunc(fields, func(f Field) bool {
		return (within(f.Path, "/metadata") || within(f.Path, "/status")) && !present(f)
	}) {
		return Exact(obj)
	}
	return []policy.PatchOp{guard(obj, "uid"), test("/metadata/generation", generation)}
}

// Exact guards on the resourceVersion: nothing at all may have changed.
func Exact(obj map[string]any) []policy.PatchOp {
	return []policy.PatchOp{guard(obj, "uid"), guard(obj, "resourceVersion")}
}

func guard(obj map[string]any, field string) policy.PatchOp {
	value, _ := Lookup(obj, "/metadata/"+field)
	return test("/metadata/"+field, value)
}

func test(path string, value any) policy.PatchOp {
	return policy.PatchOp{Op: opTest, Path: path, Value: value, HasValue: true}
}

// DescribeOps is a short text of the operations, for messages: "replace /spec/x, add /spec/y".
func DescribeOps(ops []policy.PatchOp, limit int) string {
	text := ""
	for i, op := range ops {
		if i == limit {
			return text + " and " + strconv.Itoa(len(ops)-limit) + " more"
		}
		if i > 0 {
			text += ", "
		}
		text += op.Op + " " + op.Path
	}
	return text
}
