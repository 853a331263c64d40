// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// revert undoes recorded writes, in the order given. For each it succeeds when
//   - what we wrote is there: it is undone, guarded on what we wrote;
//   - what was there before is there: the write never came, or is undone already;
//   - the object is gone.
//
// What is neither was written by somebody else since, and what can't be undone at
// all stays: the target ends as RevertConflict. An API error leaves the target as
// it is for another try, without limit. Records are saved after each batch; a
// crash before that is harmless, since the object itself tells what was undone.
func (p *pass) revert(ctx context.Context, batch []int) error {
	if err := p.readyToUndo(ctx, batch); err != nil {
		return err
	}
	for _, i := range batch {
		p.records.Set(i, p.reverted(ctx, p.records.Target(i).Object, *p.records.Record(i).DeepCopy()))
	}
	return p.saver(ctx)
}

// reverted undoes a target's writes, last first. It stops at one that can't be
// undone: what that leaves behind may need what was written before it.
func (p *pass) reverted(ctx context.Context, ref v1alpha1.ObjectReference,
	rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	until := p.landsUntil(ref.UID, &rec)
	state, reason, message, more := v1alpha1.TargetReverted, rec.Reason, cause(rec), ""
	for _, w := range slices.Backward(record.WritesOf(&rec)) {
		u := p.undoWrite(ctx, ref, w)
		if w.AppliedAt == nil && u.before && p.targets.clock.Now().Before(until) {
			return p.mayLand(rec)
		}
		if stays, stopped := p.notUndone(rec, u, until); stopped {
			return stays
		}
		if u.state == v1alpha1.TargetSkipped {
			state, reason, message = lostSince(rec, u, message)
		} else if u.message != "" {
			message = also(message, u.message)
		}
		more = cmp.Or(more, u.beyond)
	}
	if left := notExactly(undone{state: state, beyond: more}); left.state != state {
		state, reason, message = left.state, left.reason, also(message, left.message)
	}
	return p.ended(rec, state, reason, message)
}

// notUndone is what becomes of a target one of whose writes isn't undone.
func (p *pass) notUndone(rec v1alpha1.TargetRecord, u undone, until time.Time) (v1alpha1.TargetRecord, bool) {
	switch {
	case kube.Classify(u.err) == kube.Unserved:
		return p.undoServed(rec, until, u.err), true
	case u.err != nil:
		return p.notYet(rec, u.err), true
	case u.reason == v1alpha1.ReasonNoUndo:
		return p.ended(rec, u.state, u.reason, also(cause(rec), u.message)), true
	case u.state == v1alpha1.TargetRevertConflict:
		return p.ended(rec, u.state, u.reason, u.message), true
	}
	return rec, false
}

// also is a message with another one after it.
func also(message, another string) string { return strings.TrimPrefix(message+"; "+another, "; ") }

// lostSince is what becomes of a target that is gone when its write is to be
// undone. One that vanished for our write, as far as anybody can tell, failed.
func lostSince(rec v1alpha1.TargetRecord, u undone, message string) (v1alpha1.TargetState, string, string) {
	switch {
	case rec.Reason == v1alpha1.ReasonVanished:
		return v1alpha1.TargetFailed, rec.Reason, message
	case len(rec.Preceding) == 0:
		return u.state, u.reason, u.message
	default: // what the fix made beside it is undone
		return v1alpha1.TargetReverted, rec.Reason, message
	}
}

// undoWrite undoes one write, if it has happened.
func (p *pass) undoWrite(ctx context.Context, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) undone {
	f, err := recorded(w).find(ctx, p.targets, ref, w)
	switch {
	case err != nil:
		return undone{err: err}
	case f.side == sideAfter && w.AppliedAt == nil && w.Expected != nil:
		return undone{err: errArrived}
	case f.side == sideAfter:
		u := recorded(w).undo(ctx, p.targets, ref, w, f)
		if u.state == v1alpha1.TargetReverted {
			u.beyond = cmp.Or(u.beyond, w.Surplus)
		}
		return u
	case f.side == sideBefore:
		b, err := surplus.Beyond(w.UndoExpected, f.object, w.Subresource, v1alpha1.RollbackFieldManager)
		if err != nil {
			return undone{err: err}
		}
		return undone{state: v1alpha1.TargetReverted, before: true, beyond: cmp.Or(b.Path, w.Surplus)}
	case f.side == sideGone:
		return goneSince()
	default:
		return changedSince(w, f.object)
	}
}

// errArrived says that a write is found only now whose answer was lost: what came with it
// is recorded first.
var errArrived = errors.New("the write has only just been found: what came with it is recorded first")

// notYetUndone separates why a write is undone from why it isn't undone yet.
const notYetUndone = "; not undone yet: "

// notYet leaves a write for another try, and keeps why it is to be undone.
func (p *pass) notYet(rec v1alpha1.TargetRecord, err error) v1alpha1.TargetRecord {
	rec.Message = prose.Shorten(cause(rec)+notYetUndone+err.Error(), 1024)
	next := metav1.NewMicroTime(p.targets.clock.Now().Add(p.targets.backoff(rec.Attempts)))
	rec.Attempts++
	rec.NextAttemptAt, rec.WaitingSince = &next, nil
	return rec
}

// mayLand leaves a write for another look that hasn't happened, and still may.
func (p *pass) mayLand(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	next := metav1.NewMicroTime(p.targets.clock.Now().Add(landingPoll))
	rec.NextAttemptAt = &next
	return rec
}

// cause is why a write is undone.
func cause(rec v1alpha1.TargetRecord) string {
	text, _, _ := strings.Cut(rec.Message, notYetUndone)
	return text
}

func (p *pass) ended(rec v1alpha1.TargetRecord, state v1alpha1.TargetState, reason,
	message string) v1alpha1.TargetRecord {
	rec = record.WithoutProofs(rec)
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.WaitingSince = state, reason,
		prose.Shorten(message, 1024), nil, nil
	if state == v1alpha1.TargetReverted {
		rec.Recovering = rec.Write != nil
		now := metav1.NewMicroTime(p.targets.clock.Now())
		for _, w := range record.WritesOf(&rec) {
			w.RevertedAt = &now
		}
	}
	return rec
}
