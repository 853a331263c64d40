// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// Patching carries out a JSON Patch of the target or of its status.
type Patching struct{}

func (Patching) dryRun(ctx context.Context, a *Attempt, w *Write) *v1alpha1.TargetRecord {
	w.Marking = a.marking(w)
	result, err := a.tryPatch(ctx, w)
	if w.Marking.Sets() && refusedAsSuch(err) {
		w.Marking = action.Marking{} // never is the mark what keeps a fix from being written
		result, err = a.tryPatch(ctx, w)
	}
	if err != nil {
		return a.FromError(err)
	}
	w.Stored = result
	w.Fields = action.DiffStep(w.Base.Object, result.Object, w.Subresource)
	w.Keys = action.Keys(w.Base.Object, w.Fields)
	if len(w.Fields) == 0 {
		return a.Failed(v1alpha1.ReasonFixIneffective, "the API server would store the object unchanged")
	}
	if rec := a.onlyWhatItSays(ctx, w, result); rec != nil {
		return rec
	}
	w.Record.Subresource = w.Subresource
	if w.Record.Forward, err = action.ToRecordOps(w.Marking.Around(w.Ops)); err == nil {
		w.Record.Keys, err = action.ToRecordOps(w.Keys)
	}
	if err == nil {
		err = SetFields(&w.Record, w.Fields)
	}
	if err == nil {
		w.Record.Expected, err = surplus.ExpectWrite(w.Base, result, w.Subresource)
	}
	if err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	return nil
}

// onlyWhatItSays compares what the server would store with what the fix asks for:
// it may change no other field, and must still resolve the violation.
func (a *Attempt) onlyWhatItSays(
	ctx context.Context, w *Write, stored *unstructured.Unstructured) *v1alpha1.TargetRecord {
	asked, err := action.Apply(w.Base.Object, []policy.Action{{Type: policy.ActionPatch, Ops: w.Ops}})
	if err != nil {
		return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if path, more := action.Beyond(action.DiffStep(w.Base.Object, asked, w.Subresource), w.Fields); more {
		return a.Failed(v1alpha1.ReasonFixChangesMore, fmt.Sprintf(
			"the API server, or a mutating webhook, would change %s too, which the fix doesn't name: let the fix "+
				"change it as well, or leave it alone", path))
	}
	if w.Subresource != "" || len(action.DiffStep(asked, stored.Object, "")) == 0 || len(a.Steps) > 1 {
		return nil
	}
	return a.Resolves(ctx, stored.Object, "as the API server would store it")
}

// Send is Operation.Send.
func (p Patching) Send(ctx context.Context, t *targets.Client, w *Write) error {
	ops, keys, fields := w.Ops, w.Keys, w.Fields
	if all := w.Combined; all != nil {
		ops, keys, fields = all.Ops, all.Keys, all.Fields
	}
	stored, err := t.Patch(ctx, w.Base, w.Subresource,
		action.Forward(w.Base.Object, w.Marking.Around(ops), keys, fields))
	if err != nil {
		return err
	}
	if err := w.compare(stored, fields); err != nil {
		return err
	}
	w.Base = stored
	return p.Keep(&w.Record, stored)
}

// Keep is Operation.Keep.
func (Patching) Keep(rec *v1alpha1.WriteRecord, stored *unstructured.Unstructured) error {
	fields, err := action.FromRecordFields(rec.Fields)
	if err != nil {
		return err
	}
	for i, seen := range action.Observe(stored.Object, fields) {
		fields[i].After, fields[i].HasAfter = seen.After, seen.HasAfter
	}
	return SetFields(rec, fields)
}

// Find is Operation.Find.
func (Patching) Find(ctx context.Context, t *targets.Client, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) (
	Finding, error) {
	obj, err := t.Read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return Finding{Side: SideGone}, nil
	case err != nil:
		return Finding{}, err
	}
	s, err := SideOf(obj, w)
	return Finding{Side: s, Object: obj}, err
}

// SideOf compares the recorded fields of a patch with an object.
func SideOf(obj *unstructured.Unstructured, write *v1alpha1.WriteRecord) (Side, error) {
	if string(obj.GetUID()) != write.UID {
		return SideGone, nil
	}
	fields, err := action.FromRecordFields(write.Fields)
	if err != nil {
		return SideNeither, err
	}
	digest, err := action.DigestAfter(action.Observe(obj.Object, fields))
	if err != nil {
		return SideNeither, err
	}
	switch digest {
	case write.DigestAfter:
		return SideAfter, nil
	case write.DigestBefore:
		return SideBefore, nil
	default:
		return SideNeither, nil
	}
}

// Undo sends the inverse patch, and believes only what the server answers.
func (Patching) Undo(ctx context.Context, t *targets.Client, _ v1alpha1.ObjectReference, w *v1alpha1.WriteRecord,
	f Finding) Undone {
	fields, err := action.FromRecordFields(w.Fields)
	if err != nil {
		return Undone{Err: fmt.Errorf("the record can't be read: %w", err)}
	}
	inverse, wanted, err := InverseOf(w, f.Object)
	if err != nil {
		return Undone{Err: err}
	}
	if wanted == nil {
		return ChangedSince(w, f.Object)
	}
	expected, err := ExpectUndone(wanted, w.Subresource)
	if err != nil {
		return Undone{Err: err}
	}
	result, err := t.Patch(ctx, f.Object, w.Subresource, inverse, client.FieldOwner(v1alpha1.RollbackFieldManager))
	switch kube.Classify(err) {
	case kube.OK:
	case kube.Gone:
		return GoneSince()
	case kube.Unserved, kube.Conflict, kube.Invalid, kube.Forbidden, kube.Transient:
		return Undone{Err: err}
	}
	more, err := surplus.Beyond(expected, result, w.Subresource, v1alpha1.RollbackFieldManager)
	if err != nil {
		return Undone{Err: err}
	}
	digest, err := action.DigestAfter(action.Observe(result.Object, fields))
	if err != nil || digest != w.DigestBefore {
		return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonConflict,
			Message: fmt.Sprintf("the API server stored other values than those that were there before (%s): compare "+
				"the record with the object", more.Path)}
	}
	return Undone{State: v1alpha1.TargetReverted, Beyond: more.Path}
}

// ChangedSince is the outcome of undoing what somebody else has changed since.
func ChangedSince(w *v1alpha1.WriteRecord, live *unstructured.Unstructured) Undone {
	which := ""
	if fields, err := action.FromRecordFields(w.Fields); err == nil && live != nil {
		for i, now := range action.Observe(live.Object, fields) {
			if f := fields[i]; now.HasAfter != f.HasAfter || !reflect.DeepEqual(now.After, f.After) {
				which = " (" + f.Path + ")"
				break
			}
		}
	}
	return Undone{State: v1alpha1.TargetRevertConflict, Reason: v1alpha1.ReasonConflict,
		Message: "somebody else has changed the same fields since our write" + which +
			": theirs are kept; compare the record with the object"}
}

// InverseOf is the patch that undoes a write, and what it makes of the object: nil when it
// can't be applied, because a list was reordered around our values.
func InverseOf(w *v1alpha1.WriteRecord, obj *unstructured.Unstructured) ([]policy.PatchOp, map[string]any, error) {
	fields, err := action.FromRecordFields(w.Fields)
	if err != nil {
		return nil, nil, fmt.Errorf("the record can't be read: %w", err)
	}
	keys, err := action.FromRecordOps(w.Keys)
	if err != nil {
		return nil, nil, fmt.Errorf("the record can't be read: %w", err)
	}
	ops, result := action.Undo(obj.Object, keys, fields, action.RecordedMark(w.Forward))
	return ops, result, nil
}

// ExpectUndone is the proof of what an object is to hold after the undoing of a write.
func ExpectUndone(result map[string]any, subresource string) (*v1alpha1.ExpectedContent, error) {
	return surplus.Expect(&unstructured.Unstructured{Object: result}, subresource, v1alpha1.RollbackFieldManager)
}
