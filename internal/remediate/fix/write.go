// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
)

// Write is one write of an attempt: what the server is asked for, and the record
// that is persisted before.
type Write struct {
	action.Step
	// Base is the target as it was read; of a creation the manifest.
	Base *unstructured.Unstructured
	// Stored is a patched object as the dry run answered it.
	Stored *unstructured.Unstructured
	Fields []action.Field
	Keys   []policy.PatchOp
	Record v1alpha1.WriteRecord
	// Marking names the plan at the object, in the same patch.
	Marking action.Marking
	// Combined is what is sent in its place, for several plans; nil when it is written alone.
	Combined *Combined
}

// Combined is one patch for several plans: that of the plan that leads, and the others'.
type Combined struct {
	Ops    []policy.PatchOp
	Keys   []policy.PatchOp
	Fields []action.Field
	// Recheck asks the other plans once more, right before the write. It returns a record
	// when it mustn't be sent.
	Recheck func(context.Context) *v1alpha1.TargetRecord
}

// Operation carries out one kind of write. What it can't recompute after a crash is
// in the record; all else it finds out from the live objects.
type Operation interface {
	// dryRun sends the write as a server-side dry run and completes its record. It
	// returns a target's record when the server refuses, or the write can't be made.
	dryRun(context.Context, *Attempt, *Write) *v1alpha1.TargetRecord
	// Send sends the write, guarded so that it changes nothing unless the object
	// is as it was read.
	Send(context.Context, *targets.Client, *Write) error
	// Find looks whether a recorded write has happened.
	Find(context.Context, *targets.Client, v1alpha1.ObjectReference, *v1alpha1.WriteRecord) (Finding, error)
	// Keep puts into the record what the server really stored.
	Keep(*v1alpha1.WriteRecord, *unstructured.Unstructured) error
	// Undo undoes a write that was found to have happened.
	Undo(context.Context, *targets.Client, v1alpha1.ObjectReference, *v1alpha1.WriteRecord, Finding) Undone
}

// OperationOf is what carries out a write. A record without an action is a patch.
func OperationOf(t v1alpha1.ActionType) Operation {
	switch {
	case t.Creates():
		return creation{}
	case t == v1alpha1.ActionEvict:
		return eviction{}
	case t.Removes():
		return deletion{}
	default:
		return Patching{}
	}
}

// Removes reports whether a recorded write takes the target away.
func Removes(w *v1alpha1.WriteRecord) bool { return w != nil && w.Action.Removes() }

// Side says which state of a recorded write an object is in.
type Side int

const (
	// sideNeither: somebody else has written the same since, or meanwhile.
	SideNeither Side = iota
	// sideBefore: the write hasn't happened, or is undone.
	SideBefore
	// sideAfter: the write has happened.
	SideAfter
	// sideGone: the object is gone, or another one bears its name.
	SideGone
)

// Finding is what was found out about a recorded write.
type Finding struct {
	Side Side
	// Object is the live object; nil when there is none.
	Object *unstructured.Unstructured
}

// Undone is what came of undoing a write.
type Undone struct {
	// State is Reverted, Skipped (nothing of ours is left) or RevertConflict.
	State           v1alpha1.TargetState
	Reason, Message string
	// Before says that the object is as it was before the write.
	Before bool
	// Beyond is a place that was changed beyond what was to be undone; empty for none.
	Beyond string
	// Err says why it must be tried again; then nothing else is set.
	Err error
}

// GoneSince is the outcome of undoing a write to an object that is gone.
func GoneSince() Undone {
	return Undone{State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonGone,
		Message: "the object was deleted; nothing of ours is left to undo"}
}

// WithWrites is a record with the writes of an attempt in place of others.
func WithWrites(rec v1alpha1.TargetRecord, writes []*Write) v1alpha1.TargetRecord {
	rec.Preceding, rec.Write = nil, nil
	for i, w := range writes {
		copied := w.Record
		if i == len(writes)-1 {
			rec.Write = &copied
			continue
		}
		rec.Preceding = append(rec.Preceding, copied)
	}
	return rec
}

// Applied marks a record's writes as known to have happened, and the target as
// written.
func Applied(rec v1alpha1.TargetRecord, at metav1.MicroTime) v1alpha1.TargetRecord {
	for _, w := range record.WritesOf(&rec) {
		if w.AppliedTime == nil {
			w.AppliedTime = &at
		}
	}
	rec.State, rec.Reason, rec.Message, rec.NextAttemptTime, rec.Attempts = v1alpha1.TargetApplied, "", "", nil, 0
	return NotedBeyond(record.WithoutProofs(rec))
}
