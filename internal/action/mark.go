// SPDX-License-Identifier: Apache-2.0

package action

import (
	"maps"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// The mark, v1alpha1.AnnotationLastRemediation, tells people which plan has written an
// object last. It is no part of any fix: no comparison of two states of an object sees it,
// and whoever changes it has changed nothing that matters here.

const annotationsPath = "/metadata/annotations"

func markPath() string { return Join(annotationsPath, v1alpha1.AnnotationLastRemediation) }

// MarkOf is the mark of an object; false for none.
func MarkOf(obj map[string]any) (string, bool) {
	value, _ := Lookup(obj, markPath())
	mark, is := value.(string)
	return mark, is
}

// SameMark says whether two objects have the same mark, or none.
func SameMark(a, b map[string]any) bool {
	was, marked := MarkOf(a)
	is, still := MarkOf(b)
	return was == is && marked == still
}

// Unmarked is an object without its mark. The object itself isn't changed.
func Unmarked(obj map[string]any) map[string]any {
	if _, marked := MarkOf(obj); !marked {
		return obj
	}
	out := maps.Clone(obj)
	metadata, _ := obj["metadata"].(map[string]any)
	metadata = maps.Clone(metadata)
	out["metadata"] = metadata
	annotations, _ := metadata["annotations"].(map[string]any)
	annotations = maps.Clone(annotations)
	delete(annotations, v1alpha1.AnnotationLastRemediation)
	if metadata["annotations"] = annotations; len(annotations) == 0 {
		delete(metadata, "annotations") // as the API server does
	}
	return out
}

// Marking sets the mark in the patch of a fix: a test of the mark before it, which holds
// its value for the undoing, and the operation after it. The zero value sets none.
type Marking struct{ Guard, Set []policy.PatchOp }

// MarkingOf marks an object, as it was read and as the fix makes it, with a plan's name.
func MarkingOf(obj, fixed map[string]any, plan string) Marking {
	m := Marking{Set: []policy.PatchOp{addMark(fixed, plan)}}
	if before, marked := MarkOf(obj); marked {
		m.Guard = []policy.PatchOp{test(markPath(), before)}
	}
	return m
}

// Around is a patch with the mark.
func (m Marking) Around(ops []policy.PatchOp) []policy.PatchOp {
	return slices.Concat(m.Guard, ops, m.Set)
}

// Sets says whether a mark is set.
func (m Marking) Sets() bool { return len(m.Set) > 0 }

// addMark is the operation that gives an object a mark.
func addMark(obj map[string]any, mark string) policy.PatchOp {
	op := policy.PatchOp{Op: "add", Path: markPath(), Value: mark, HasValue: true}
	if annotations, _ := Lookup(obj, annotationsPath); !isObject(annotations) {
		op.Path, op.Value = annotationsPath, map[string]any{v1alpha1.AnnotationLastRemediation: mark}
	}
	return op
}

// SetsMark says whether steps set the mark of an object, before and after them, by themselves:
// it is nobody's to set but the manager's.
func SetsMark(before, after map[string]any, steps []Step) bool {
	was, had := MarkOf(before)
	is, has := MarkOf(after)
	return has && (!had || was != is) || slices.ContainsFunc(steps, func(s Step) bool {
		return slices.ContainsFunc(s.Ops, func(op policy.PatchOp) bool {
			return op.Path == markPath() || op.From == markPath()
		})
	})
}

// MarkOnly is what a recorded patch tells of the mark, without the fix; nil when it set none.
func MarkOnly(recs []v1alpha1.PatchOperation) []v1alpha1.PatchOperation {
	if len(recs) == 0 {
		return nil
	}
	first, last := recs[0], recs[len(recs)-1]
	if _, marks := markIn(last); !marks {
		return nil
	}
	if len(recs) > 1 && first.Op == opTest && first.Path == markPath() {
		return []v1alpha1.PatchOperation{first, last}
	}
	return []v1alpha1.PatchOperation{last}
}

// markIn is the mark that a recorded operation sets; false for one that does anything else.
func markIn(rec v1alpha1.PatchOperation) (string, bool) {
	if rec.Op != "add" {
		return "", false
	}
	value, _, err := fromJSON(rec.Value)
	if all, is := value.(map[string]any); is && len(all) == 1 && rec.Path == annotationsPath {
		value = all[v1alpha1.AnnotationLastRemediation]
	} else if rec.Path != markPath() {
		return "", false
	}
	mark, is := value.(string)
	return mark, is && err == nil
}

// Mark is the mark before and after a recorded patch. The zero value is that of a patch
// that set none.
type Mark struct {
	before, after             string
	markedBefore, markedAfter bool
}

// RecordedMark is the mark of a recorded patch.
func RecordedMark(recs []v1alpha1.PatchOperation) Mark {
	var m Mark
	only := MarkOnly(recs)
	if only == nil {
		return m
	}
	m.after, m.markedAfter = markIn(only[len(only)-1])
	if len(only) > 1 {
		before, _, err := fromJSON(only[0].Value)
		if text, is := before.(string); is && err == nil {
			m.before, m.markedBefore = text, true
		}
	}
	return m
}

// withMark is the value at a path, where obj's mark lies within it, with that mark: fields
// don't have it, and the API server does.
func withMark(path string, value any, obj map[string]any) any {
	mark, marked := MarkOf(obj)
	annotations, is := value.(map[string]any)
	if path != annotationsPath || !marked || !is {
		return value
	}
	annotations = maps.Clone(annotations)
	annotations[v1alpha1.AnnotationLastRemediation] = mark
	return annotations
}

// Undo is the Inverse of a write with its mark, and what it makes of the object: nil when it
// can't be applied. The mark becomes what it was before the write where it is still ours;
// a mark that somebody has changed since stays, and keeps nothing from being undone.
func Undo(obj map[string]any, keys []policy.PatchOp, fields []Field, m Mark) (
	[]policy.PatchOp, map[string]any) {
	ops := Inverse(obj, keys, fields)
	result, err := Apply(obj, []policy.Action{{Type: policy.ActionPatch, Ops: ops}})
	if err != nil {
		return ops, nil
	}
	now, has := MarkOf(obj)
	want, wanted := now, has
	if has && m.markedAfter && now == m.after {
		want, wanted = m.before, m.markedBefore
	}
	restore := restoreMark(result, want, wanted)
	if left, kept := MarkOf(result); len(restore) == 0 && left == now && kept == has {
		return ops, result
	}
	// Nobody's mark is overwritten that was set after the object was read.
	ops = append(append([]policy.PatchOp{test(markPath(), now)}, ops...), restore...)
	if result, err = Apply(result, []policy.Action{{Type: policy.ActionPatch, Ops: restore}}); err != nil {
		return ops, nil
	}
	return ops, withoutEmptyAnnotations(result)
}

// restoreMark are the operations that give an object a mark, or none.
func restoreMark(obj map[string]any, want string, wanted bool) []policy.PatchOp {
	switch now, has := MarkOf(obj); {
	case wanted && has && now == want, !wanted && !has:
		return nil
	case wanted:
		return []policy.PatchOp{addMark(obj, want)}
	default:
		return []policy.PatchOp{{Op: "remove", Path: markPath()}}
	}
}

// withoutEmptyAnnotations is an object as the API server stores it: it keeps no empty map
// of annotations. The object is changed.
func withoutEmptyAnnotations(obj map[string]any) map[string]any {
	metadata, _ := obj["metadata"].(map[string]any)
	if annotations, is := metadata["annotations"].(map[string]any); is && len(annotations) == 0 {
		delete(metadata, "annotations")
	}
	return obj
}
