// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// resolve finds out what became of recorded writes, from the objects themselves.
// A target of which nothing was written goes back to pending, and is computed
// anew; one of which all was written is applied. What was written of a fix that
// is only half done is taken back first. An object that is gone may have been
// written before: it counts as written, and verification finds it missing.
func (p *Pass) resolve(ctx context.Context, batch []int) error {
	for _, i := range batch {
		rec := p.resolved(ctx, p.Attempt(i))
		p.SetRecord(i, rec)
	}
	return p.Save(ctx)
}

func (p *Pass) resolved(ctx context.Context, a *fix.Attempt) v1alpha1.TargetRecord {
	found := map[fix.Side]int{}
	writes := record.WritesOf(&a.Previous)
	findings := make([]fix.Finding, len(writes))
	now := metav1.NewMicroTime(p.Targets.Clock.Now())
	for n, w := range writes {
		f, err := fix.OperationOf(w.Action).Find(ctx, p.Targets, a.Target.Object, w)
		if err != nil {
			return p.unknown(p.undecided(a), err)
		}
		findings[n] = f
	}
	for n, w := range writes {
		f, err := landed(w, findings[n], now)
		if err != nil {
			return p.unknown(a.Previous, err)
		}
		found[f.Side]++
		findings[n] = f
	}
	switch {
	case found[fix.SideAfter]+found[fix.SideGone] == len(writes) && len(writes) > 0:
		for n, w := range writes {
			if findings[n].Side == fix.SideGone {
				continue
			}
			if err := fix.OperationOf(w.Action).Keep(w, findings[n].Object); err != nil {
				return p.unknown(a.Previous, err)
			}
		}
		return fix.Applied(a.Previous, now)
	case found[fix.SideAfter] > 0:
		return p.takeBack(ctx, a, *p.halfDone(a, found))
	default:
		return *p.halfDone(a, found)
	}
}

// landed completes the record of a write that was found to have happened, and says so too
// of one whose very fields a webhook has changed.
func landed(w *v1alpha1.WriteRecord, f fix.Finding, now metav1.MicroTime) (fix.Finding, error) {
	if w.AppliedTime != nil {
		return f, nil
	}
	if f.Side == fix.SideNeither && surplus.Bent(w, f.Object) {
		if err := (fix.Patching{}).Keep(w, f.Object); err != nil {
			return f, err
		}
		f.Side = fix.SideAfter
	}
	if f.Side != fix.SideAfter {
		return f, nil
	}
	if err := fix.Arrived(w, f.Object); err != nil {
		return f, err
	}
	w.AppliedTime = &now
	return f, nil
}

// undecided is the record of a target of which nobody can find out now what became of
// its writes. Once they can't arrive any more it isn't one that is merely to be written
// again: is it never found out, its wave is undone, and this target with it.
func (p *Pass) undecided(a *fix.Attempt) v1alpha1.TargetRecord {
	rec := a.Previous
	if !p.Targets.Clock.Now().Before(p.landsUntil(a.Target.Object.UID, &rec)) {
		rec.State = v1alpha1.TargetIntent
	}
	return rec
}

// halfDone is what becomes of a target once nothing of its fix is left.
func (p *Pass) halfDone(a *fix.Attempt, found map[fix.Side]int) *v1alpha1.TargetRecord {
	switch {
	case found[fix.SideGone] > 0:
		return a.Skipped(v1alpha1.ReasonGone, "the object was deleted while its write was in flight")
	case found[fix.SideNeither] > 0:
		lost := a.Failed(v1alpha1.ReasonConflict,
			"somebody else has written the same fields while our write was in flight; what the object holds is theirs")
		lost.Preceding, lost.Write = a.Previous.Preceding, a.Previous.Write
		*lost = record.WithoutProofs(*lost)
		return lost
	case found[fix.SideAfter] > 0:
		return a.Retry("only a part of the fix had been written; it was taken back",
			p.Targets.Backoff(a.Previous.Attempts))
	default:
		return p.notHappened(a)
	}
}

// notHappened is what becomes of a target whose write hasn't happened. While the
// write may still arrive its record stays, so that it is recognized; from then on
// what the object comes to hold is somebody else's.
func (p *Pass) notHappened(a *fix.Attempt) *v1alpha1.TargetRecord {
	if !p.Targets.Clock.Now().Before(p.landsUntil(a.Target.Object.UID, &a.Previous)) {
		rec := a.Pending(v1alpha1.ReasonRetrying,
			"the recorded write hasn't happened, and can't any more; recomputing it")
		rec.Preceding, rec.Write = nil, nil
		return rec
	}
	if a.Previous.State == v1alpha1.TargetPending { // nothing else is to be done for it now
		rec := a.AwaitLanding("the recorded write hasn't happened yet, and still may")
		return &rec
	}
	return a.Pending(v1alpha1.ReasonRetrying, "the recorded write hadn't happened; recomputing it")
}

// takeBack undoes those of an attempt's writes that have happened, last first.
// Until that is done the intent stays; then the target's record is outcome.
func (p *Pass) takeBack(ctx context.Context, a *fix.Attempt, outcome v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range slices.Backward(record.WritesOf(&a.Previous)) {
		if w.AppliedTime == nil {
			continue
		}
		u := p.undoWrite(ctx, a.Target.Object, w)
		if u.Err != nil {
			return p.unknown(a.Previous, u.Err)
		}
		u = notExactly(u)
		if u.State == v1alpha1.TargetRevertConflict {
			lost := a.Failed(u.Reason, "only a part of the fix was written, and couldn't be taken back: "+u.Message)
			lost.Preceding, lost.Write = a.Previous.Preceding, a.Previous.Write
			return record.WithoutProofs(*lost)
		}
	}
	return outcome
}
