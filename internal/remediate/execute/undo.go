// SPDX-License-Identifier: Apache-2.0

package execute

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
	"evenkeel.dev/evenkeel/internal/remediate/fix"
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
func (p *Pass) revert(ctx context.Context, batch []int) error {
	if err := p.readyToUndo(ctx, batch); err != nil {
		return err
	}
	for _, i := range batch {
		p.Records.Set(i, p.reverted(ctx, p.Records.Target(i).Object, *p.Records.Record(i).DeepCopy()))
	}
	return p.Save(ctx)
}

// reverted undoes a target's writes, last first. It stops at one that can't be
// undone: what that leaves behind may need what was written before it.
func (p *Pass) reverted(ctx context.Context, ref v1alpha1.ObjectReference,
	rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	until := p.landsUntil(ref.UID, &rec)
	state, reason, message, more := v1alpha1.TargetReverted, rec.Reason, cause(rec), ""
	for _, w := range slices.Backward(record.WritesOf(&rec)) {
		u := p.undoWrite(ctx, ref, w)
		if w.AppliedTime == nil && u.Before && p.Targets.Clock.Now().Before(until) {
			return p.mayLand(rec)
		}
		if stays, stopped := p.notUndone(rec, u, until); stopped {
			return stays
		}
		if u.State == v1alpha1.TargetSkipped {
			state, reason, message = lostSince(rec, u, message)
		} else if u.Message != "" {
			message = also(message, u.Message)
		}
		more = cmp.Or(more, u.Beyond)
	}
	if left := notExactly(fix.Undone{State: state, Beyond: more}); left.State != state {
		state, reason, message = left.State, left.Reason, also(message, left.Message)
	}
	return p.ended(rec, state, reason, message)
}

// notUndone is what becomes of a target one of whose writes isn't undone.
func (p *Pass) notUndone(rec v1alpha1.TargetRecord, u fix.Undone, until time.Time) (v1alpha1.TargetRecord, bool) {
	switch {
	case kube.Classify(u.Err) == kube.Unserved:
		return p.undoServed(rec, until, u.Err), true
	case kube.Classify(u.Err) == kube.Invalid && !kube.DeniedByAdmission(u.Err):
		return p.undoRefused(rec, until, u.Err), true
	case u.Err != nil:
		return p.notYet(rec, u.Err), true
	case u.Reason == v1alpha1.ReasonNoUndo:
		return p.ended(rec, u.State, u.Reason, also(cause(rec), u.Message)), true
	case u.State == v1alpha1.TargetRevertConflict:
		return p.ended(rec, u.State, u.Reason, u.Message), true
	}
	return rec, false
}

// also is a message with another one after it.
func also(message, another string) string { return strings.TrimPrefix(message+"; "+another, "; ") }

// lostSince is what becomes of a target that is gone when its write is to be
// undone. One that vanished for our write, as far as anybody can tell, failed.
func lostSince(rec v1alpha1.TargetRecord, u fix.Undone, message string) (v1alpha1.TargetState, string, string) {
	switch {
	case rec.Reason == v1alpha1.ReasonVanished:
		return v1alpha1.TargetFailed, rec.Reason, message
	case len(rec.Preceding) == 0:
		return u.State, u.Reason, u.Message
	default: // what the fix made beside it is undone
		return v1alpha1.TargetReverted, rec.Reason, message
	}
}

// undoWrite undoes one write, if it has happened.
func (p *Pass) undoWrite(ctx context.Context, ref v1alpha1.ObjectReference, w *v1alpha1.WriteRecord) fix.Undone {
	f, err := fix.OperationOf(w.Action).Find(ctx, p.Targets, ref, w)
	switch {
	case err != nil:
		return fix.Undone{Err: err}
	case f.Side == fix.SideAfter && w.AppliedTime == nil && w.Expected != nil:
		return fix.Undone{Err: errArrived}
	case f.Side == fix.SideAfter:
		u := fix.OperationOf(w.Action).Undo(ctx, p.Targets, ref, w, f)
		if u.State == v1alpha1.TargetReverted {
			u.Beyond = cmp.Or(u.Beyond, w.Surplus)
		}
		return u
	case f.Side == fix.SideBefore:
		b, err := surplus.Beyond(w.UndoExpected, f.Object, w.Subresource, v1alpha1.RollbackFieldManager)
		if err != nil {
			return fix.Undone{Err: err}
		}
		return fix.Undone{State: v1alpha1.TargetReverted, Before: true, Beyond: cmp.Or(b.Path, w.Surplus)}
	case f.Side == fix.SideGone:
		return fix.GoneSince()
	default:
		return fix.ChangedSince(w, f.Object)
	}
}

// errArrived says that a write is found only now whose answer was lost: what came with it
// is recorded first.
var errArrived = errors.New("the write has only just been found: what came with it is recorded first")

// notYetUndone separates why a write is undone from why it isn't undone yet.
const notYetUndone = "; not undone yet: "

// notYet leaves a write for another try, and keeps why it is to be undone.
func (p *Pass) notYet(rec v1alpha1.TargetRecord, err error) v1alpha1.TargetRecord {
	rec.Message = prose.Shorten(cause(rec)+notYetUndone+err.Error(), 1024)
	next := metav1.NewMicroTime(p.Targets.Clock.Now().Add(p.Targets.Backoff(rec.Attempts)))
	rec.Attempts++
	rec.NextAttemptTime, rec.WaitingTime = &next, nil
	return rec
}

// mayLand leaves a write for another look that hasn't happened, and still may.
func (p *Pass) mayLand(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	next := metav1.NewMicroTime(p.Targets.Clock.Now().Add(fix.LandingPoll))
	rec.NextAttemptTime = &next
	return rec
}

// cause is why a write is undone.
func cause(rec v1alpha1.TargetRecord) string {
	text, _, _ := strings.Cut(rec.Message, notYetUndone)
	return text
}

func (p *Pass) ended(rec v1alpha1.TargetRecord, state v1alpha1.TargetState, reason,
	message string) v1alpha1.TargetRecord {
	rec = record.WithoutProofs(rec)
	rec.State, rec.Reason, rec.Message, rec.NextAttemptTime, rec.WaitingTime = state, reason,
		prose.Shorten(message, 1024), nil, nil
	if state == v1alpha1.TargetReverted {
		rec.Recovering = rec.Write != nil
		now := metav1.NewMicroTime(p.Targets.Clock.Now())
		for _, w := range record.WritesOf(&rec) {
			w.RevertedTime = &now
		}
	}
	return rec
}
