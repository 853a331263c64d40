// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// write is one write of an attempt: what the server is asked for, and the record
// that is persisted before.
type write struct {
	action.Step
	// object is the target as it was read; of a creation the manifest.
	object *unstructured.Unstructured
	// stored is a patched object as the dry run answered it.
	stored *unstructured.Unstructured
	fields []action.Field
	keys   []policy.PatchOp
	record v1alpha1.WriteRecord
	// joint is the write that this one leads for several plans; nil when it is alone.
	joint *joint
}

// operation carries out one kind of write. What it can't recompute after a crash is
// in the record; all else it finds out from the live objects.
type operation interface {
	// dryRun sends the write as a server-side dry run and completes its record. It
	// returns a target's record when the server refuses, or the write can't be made.
	dryRun(context.Context, *attempt, *write) *v1alpha1.TargetRecord
	// send sends the write, guarded so that it changes nothing unless the object
	// is as it was read.
	send(context.Context, *targets, *write) error
	// find looks whether a recorded write has happened.
	find(context.Context, *targets, v1alpha1.ObjectReference, *v1alpha1.WriteRecord) (finding, error)
	// keep puts into the record what the server really stored.
	keep(*v1alpha1.WriteRecord, *unstructured.Unstructured) error
	// undo undoes a write that was found to have happened.
	undo(context.Context, *targets, v1alpha1.ObjectReference, *v1alpha1.WriteRecord, finding) undone
}

// operationOf is what carries out a write.
func operationOf(t policy.ActionType) operation {
	switch t {
	case policy.ActionCreate:
		return creation{}
	case policy.ActionDelete:
		return deletion{}
	case policy.ActionEvict:
		return eviction{}
	case policy.ActionPatch, policy.ActionRestart, policy.ActionScale:
		return patching{}
	}
	return patching{}
}

// recorded is what carries out a recorded write. A record without a verb is a
// patch.
func recorded(w *v1alpha1.WriteRecord) operation {
	for _, v := range action.Definitions() {
		if v.Allowed == w.Action {
			return operationOf(v.Type)
		}
	}
	return patching{}
}

// removes says whether a recorded write takes the target away.
func removes(w *v1alpha1.WriteRecord) bool {
	return w != nil && (w.Action == v1alpha1.ActionDelete || w.Action == v1alpha1.ActionEvict)
}

// side says which state of a recorded write an object is in.
type side int

const (
	// sideNeither: somebody else has written the same since, or meanwhile.
	sideNeither side = iota
	// sideBefore: the write hasn't happened, or is undone.
	sideBefore
	// sideAfter: the write has happened.
	sideAfter
	// sideGone: the object is gone, or another one bears its name.
	sideGone
)

// finding is what was found out about a recorded write.
type finding struct {
	side side
	// object is the live object; nil when there is none.
	object *unstructured.Unstructured
}

// undone is what came of undoing a write.
type undone struct {
	// state is Reverted, Skipped (nothing of ours is left) or RevertConflict.
	state           v1alpha1.TargetState
	reason, message string
	// before says that the object is as it was before the write.
	before bool
	// beyond is a place that was changed beyond what was to be undone; empty for none.
	beyond string
	// err says why it must be tried again; then nothing else is set.
	err error
}

// goneSince is the outcome of undoing a write to an object that is gone.
func goneSince() undone {
	return undone{state: v1alpha1.TargetSkipped, reason: v1alpha1.ReasonGone,
		message: "the object was deleted; nothing of ours is left to undo"}
}

// withWrites is a record with the writes of an attempt in place of others.
func withWrites(rec v1alpha1.TargetRecord, writes []*write) v1alpha1.TargetRecord {
	rec.Preceding, rec.Write = nil, nil
	for i, w := range writes {
		copied := w.record
		if i == len(writes)-1 {
			rec.Write = &copied
			continue
		}
		rec.Preceding = append(rec.Preceding, copied)
	}
	return rec
}

// applied marks a record's writes as known to have happened, and the target as
// written.
func applied(rec v1alpha1.TargetRecord, at metav1.MicroTime) v1alpha1.TargetRecord {
	for _, w := range record.WritesOf(&rec) {
		if w.AppliedAt == nil {
			w.AppliedAt = &at
		}
	}
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.Attempts = v1alpha1.TargetApplied, "", "", nil, 0
	return notedBeyond(record.WithoutProofs(rec))
}
