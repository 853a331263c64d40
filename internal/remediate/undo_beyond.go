// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// readyToUndo records, before anything is undone, what each object is to hold after it,
// and what came with a write whose answer was lost: so that neither a lost answer nor a
// crash hides what else comes with the undoing.
func (p *pass) readyToUndo(ctx context.Context, batch []int) error {
	changed := false
	for _, i := range batch {
		rec := p.provenUndo(ctx, p.records.Target(i).Object, *p.records.Record(i).DeepCopy())
		if equality.Semantic.DeepEqual(&rec, p.records.Record(i)) {
			continue
		}
		for _, smaller := range []func(v1alpha1.TargetRecord) v1alpha1.TargetRecord{
			record.Briefly, record.WithoutProofs} {
			if !p.records.Fits(i, rec) { // a rollback is never kept from its way
				rec = smaller(rec)
			}
		}
		p.records.Set(i, rec)
		changed = true
	}
	if !changed {
		return nil
	}
	return p.saver(ctx)
}

// provenUndo adds to the record of each patch that is to be undone now what its undoing is
// to make of the object. Whatever keeps it from that also keeps the undoing, or is told by
// it.
func (p *pass) provenUndo(ctx context.Context, ref v1alpha1.ObjectReference,
	rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(p.targets.clock.Now())
	for _, w := range record.WritesOf(&rec) {
		if recorded(w) != (patching{}) {
			continue
		}
		f, err := recorded(w).find(ctx, p.targets, ref, w)
		if err != nil {
			continue
		}
		late := w.AppliedAt == nil
		if f, err = landed(w, f, now); err != nil || f.side != sideAfter {
			continue
		}
		if late && w.Beyond != "" {
			rec = notedBeyond(rec)
		}
		if _, result, err := inverseOf(w, f.object); err == nil && result != nil {
			if proof, err := expectUndone(result, w.Subresource); err == nil {
				w.UndoExpected = proof
			}
		}
	}
	return rec
}

// inverseOf is the patch that undoes a write, and what it makes of the object: nil when it
// can't be applied, because a list was reordered around our values.
func inverseOf(w *v1alpha1.WriteRecord, obj *unstructured.Unstructured) ([]policy.PatchOp, map[string]any, error) {
	fields, err := action.FromRecordFields(w.Fields)
	if err != nil {
		return nil, nil, fmt.Errorf("the record can't be read: %w", err)
	}
	keys, err := action.FromRecordOps(w.Keys)
	if err != nil {
		return nil, nil, fmt.Errorf("the record can't be read: %w", err)
	}
	ops := action.Inverse(obj.Object, keys, fields)
	result, err := action.Apply(obj.Object, []policy.Action{{Type: policy.ActionPatch, Ops: ops}})
	if err != nil {
		return ops, nil, nil
	}
	return ops, result, nil
}

// expectUndone is the proof of what an object is to hold after the undoing of a write.
func expectUndone(result map[string]any, subresource string) (*v1alpha1.ExpectedContent, error) {
	return surplus.Expect(&unstructured.Unstructured{Object: result}, subresource, v1alpha1.RollbackFieldManager)
}

// notExactly is the outcome of an undoing after which the object isn't as it was before
// the write, though what the fix set is set back.
func notExactly(u undone) undone {
	if u.beyond == "" || u.state != v1alpha1.TargetReverted {
		return u
	}
	u.state, u.reason = v1alpha1.TargetRevertConflict, v1alpha1.ReasonUndoChangesMore
	u.message = fmt.Sprintf("what the fix did is undone, but %s isn't as it was: a mutating webhook, or somebody, "+
		"changed it with our writes; compare the record with the object", u.beyond)
	return u
}
