// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// patching carries out a JSON Patch of the target or of its status.
type patching struct{}

func (patching) dryRun(ctx context.Context, a *attempt, w *write) *v1alpha1.TargetRecord {
	result, err := a.targets.patch(ctx, w.object, w.Subresource, append(action.Exact(w.object.Object), w.Ops...),
		client.DryRunAll)
	if err != nil {
		return a.fromError(err)
	}
	w.stored = result
	w.fields = action.DiffStep(w.object.Object, result.Object, w.Subresource)
	w.keys = action.Keys(w.object.Object, w.fields)
	if len(w.fields) == 0 {
		return a.failed(v1alpha1.ReasonFixChangesNothing, "the API server would store the object unchanged")
	}
	if rec := a.onlyWhatItSays(ctx, w, result); rec != nil {
		return rec
	}
	w.record.Subresource = w.Subresource
	if w.record.Forward, err = action.ToRecordOps(w.Ops); err == nil {
		w.record.Keys, err = action.ToRecordOps(w.keys)
	}
	if err == nil {
		err = setFields(&w.record, w.fields)
	}
	if err == nil {
		w.record.Expected, err = surplus.ExpectWrite(w.object, result, w.Subresource)
	}
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	return nil
}

// onlyWhatItSays compares what the server would store with what the fix asks for:
// it may change no other field, and must still resolve the violation.
func (a *attempt) onlyWhatItSays(
	ctx context.Context, w *write, stored *unstructured.Unstructured) *v1alpha1.TargetRecord {
	asked, err := action.Apply(w.object.Object, []policy.Action{{Type: policy.ActionPatch, Ops: w.Ops}})
	if err != nil {
		return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
	}
	if path, more := action.Beyond(action.DiffStep(w.object.Object, asked, w.Subresource), w.fields); more {
		return a.failed(v1alpha1.ReasonFixChangesMore, fmt.Sprintf(
			"the API server, or a mutating webhook, would change %s too, which the fix doesn't name: let the fix "+
				"change it as well, or leave it alone", path))
	}
	if w.Subresource != "" || len(action.DiffStep(asked, stored.Object, "")) == 0 || len(a.steps) > 1 {
		return nil
	}
	return a.resolves(ctx, stored.Object, "as the API server would store it")
}

func (p patching) send(ctx context.Context, t *targets, w *write) error {
	ops, keys, fields := w.Ops, w.keys, w.fields
	if w.joint != nil {
		ops, keys, fields = w.joint.ops, w.joint.keys, w.joint.fields
	}
	stored, err := t.patch(ctx, w.object, w.Subresource, action.Forward(w.object.Object, ops, keys, fields))
	if err != nil {
		return err
	}
	if err := w.compare(stored, fields); err != nil {
		return err
	}
	w.object = stored
	return p.keep(&w.record, stored)
}

func (patching) keep(rec *v1alpha1.WriteRecord, stored *unstructured.Unstructured) error {
	fields, err := action.FromRecordFields(rec.Fields)
	if err != nil {
		return err
	}
	for i, seen := range action.Observe(stored.Object, fields) {
		fields[i].After, fields[i].HasAfter = seen.After, seen.HasAfter
	}
	return setFields(rec, fields)
}

func (patching) find(ctx context.Context, t *targets, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) (
	finding, error) {
	obj, err := t.read(ctx, ref)
	switch {
	case kube.Classify(err) == kube.Gone:
		return finding{side: sideGone}, nil
	case err != nil:
		return finding{}, err
	}
	s, err := sideOf(obj, w)
	return finding{side: s, object: obj}, err
}

// sideOf compares the recorded fields of a patch with an object.
func sideOf(obj *unstructured.Unstructured, write *v1alpha1.WriteRecord) (side, error) {
	if string(obj.GetUID()) != write.UID {
		return sideGone, nil
	}
	fields, err := action.FromRecordFields(write.Fields)
	if err != nil {
		return sideNeither, err
	}
	digest, err := action.DigestAfter(action.Observe(obj.Object, fields))
	if err != nil {
		return sideNeither, err
	}
	switch digest {
	case write.DigestAfter:
		return sideAfter, nil
	case write.DigestBefore:
		return sideBefore, nil
	default:
		return sideNeither, nil
	}
}

// undo sends the inverse patch, and believes only what the server answers.
func (patching) undo(ctx context.Context, t *targets, _ v1alpha1.ObjectReference, w *v1alpha1.WriteRecord,
	f finding) undone {
	fields, err := action.FromRecordFields(w.Fields)
	if err != nil {
		return undone{err: fmt.Errorf("the record can't be read: %w", err)}
	}
	inverse, wanted, err := inverseOf(w, f.object)
	if err != nil {
		return undone{err: err}
	}
	if wanted == nil {
		return changedSince(w, f.object)
	}
	expected, err := expectUndone(wanted, w.Subresource)
	if err != nil {
		return undone{err: err}
	}
	result, err := t.patch(ctx, f.object, w.Subresource, inverse, client.FieldOwner(v1alpha1.RollbackFieldManager))
	switch kube.Classify(err) {
	case kube.OK:
	case kube.Gone:
		return goneSince()
	case kube.Unserved, kube.Conflict, kube.Invalid, kube.Forbidden, kube.Transient:
		return undone{err: err}
	}
	more, err := surplus.Beyond(expected, result, w.Subresource, v1alpha1.RollbackFieldManager)
	if err != nil {
		return undone{err: err}
	}
	digest, err := action.DigestAfter(action.Observe(result.Object, fields))
	if err != nil || digest != w.DigestBefore {
		return undone{state: v1alpha1.TargetRevertConflict, reason: v1alpha1.ReasonConflict,
			message: fmt.Sprintf("the API server stored other values than those that were there before (%s): compare "+
				"the record with the object", more.Path)}
	}
	return undone{state: v1alpha1.TargetReverted, beyond: more.Path}
}

// changedSince is the outcome of undoing what somebody else has changed since.
func changedSince(w *v1alpha1.WriteRecord, live *unstructured.Unstructured) undone {
	which := ""
	if fields, err := action.FromRecordFields(w.Fields); err == nil && live != nil {
		for i, now := range action.Observe(live.Object, fields) {
			if f := fields[i]; now.HasAfter != f.HasAfter || !reflect.DeepEqual(now.After, f.After) {
				which = " (" + f.Path + ")"
				break
			}
		}
	}
	return undone{state: v1alpha1.TargetRevertConflict, reason: v1alpha1.ReasonConflict,
		message: "somebody else has changed the same fields since our write" + which +
			": theirs are kept; compare the record with the object"}
}
