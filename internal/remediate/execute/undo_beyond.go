// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// readyToUndo records, before anything is undone, what each object is to hold after it,
// and what came with a write whose answer was lost: so that neither a lost answer nor a
// crash hides what else comes with the undoing.
func (p *Pass) readyToUndo(ctx context.Context, batch []int) error {
	changed := false
	for _, i := range batch {
		rec := p.provenUndo(ctx, p.Records.Target(i).Object, *p.Records.Record(i).DeepCopy())
		if equality.Semantic.DeepEqual(&rec, p.Records.Record(i)) {
			continue
		}
		for _, smaller := range []func(v1alpha1.TargetRecord) v1alpha1.TargetRecord{
			record.Briefly, record.WithoutProofs} {
			if !p.Records.Fits(i, rec) { // a rollback is never kept from its way
				rec = smaller(rec)
			}
		}
		p.Records.Set(i, rec)
		changed = true
	}
	if !changed {
		return nil
	}
	return p.Save(ctx)
}

// provenUndo adds to the record of each patch that is to be undone now what its undoing is
// to make of the object. Whatever keeps it from that also keeps the undoing, or is told by
// it.
func (p *Pass) provenUndo(ctx context.Context, ref v1alpha1.ObjectReference,
	rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	now := metav1.NewMicroTime(p.Targets.Clock.Now())
	for _, w := range record.WritesOf(&rec) {
		if fix.OperationOf(w.Action) != (fix.Patching{}) {
			continue
		}
		f, err := fix.OperationOf(w.Action).Find(ctx, p.Targets, ref, w)
		if err != nil {
			continue
		}
		late := w.AppliedTime == nil
		if f, err = landed(w, f, now); err != nil || f.Side != fix.SideAfter {
			continue
		}
		if late && w.Beyond != "" {
			rec = fix.NotedBeyond(rec)
		}
		if _, result, err := fix.InverseOf(w, f.Object); err == nil && result != nil {
			if proof, err := fix.ExpectUndone(result, w.Subresource); err == nil {
				w.UndoExpected = proof
			}
		}
	}
	return rec
}

// notExactly is the outcome of an undoing after which the object isn't as it was before
// the write, though what the fix set is set back.
func notExactly(u fix.Undone) fix.Undone {
	if u.Beyond == "" || u.State != v1alpha1.TargetReverted {
		return u
	}
	u.State, u.Reason = v1alpha1.TargetRevertConflict, v1alpha1.ReasonConflict
	u.Message = fmt.Sprintf("what the fix did is undone, but %s isn't as it was: a mutating webhook, or somebody, "+
		"changed it with our writes; compare the record with the object", u.Beyond)
	return u
}
