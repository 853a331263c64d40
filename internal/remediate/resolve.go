// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// resolve finds out what became of recorded writes, from the objects themselves.
// A target of which nothing was written goes back to pending, and is computed
// anew; one of which all was written is applied. What was written of a fix that
// is only half done is taken back first. An object that is gone may have been
// written before: it counts as written, and verification finds it missing.
func (p *pass) resolve(ctx context.Context, batch []int) error {
	for _, i := range batch {
		rec := p.resolved(ctx, p.attempt(i))
		p.setRecord(i, rec)
	}
	return p.saver(ctx)
}

func (p *pass) resolved(ctx context.Context, a *attempt) v1alpha1.TargetRecord {
	found := map[side]int{}
	writes := record.WritesOf(&a.previous)
	findings := make([]finding, len(writes))
	now := metav1.NewMicroTime(p.targets.clock.Now())
	for n, w := range writes {
		f, err := recorded(w).find(ctx, p.targets, a.target.Object, w)
		if err != nil {
			return p.unknown(p.undecided(a), err)
		}
		findings[n] = f
	}
	for n, w := range writes {
		f, err := landed(w, findings[n], now)
		if err != nil {
			return p.unknown(a.previous, err)
		}
		found[f.side]++
		findings[n] = f
	}
	switch {
	case found[sideAfter]+found[sideGone] == len(writes) && len(writes) > 0:
		for n, w := range writes {
			if findings[n].side == sideGone {
				continue
			}
			if err := recorded(w).keep(w, findings[n].object); err != nil {
				return p.unknown(a.previous, err)
			}
		}
		return applied(a.previous, now)
	case found[sideAfter] > 0:
		return p.takeBack(ctx, a, *p.halfDone(a, found))
	default:
		return *p.halfDone(a, found)
	}
}

// landed completes the record of a write that was found to have happened, and says so too
// of one whose very fields a webhook has changed.
func landed(w *v1alpha1.WriteRecord, f finding, now metav1.MicroTime) (finding, error) {
	if w.AppliedAt != nil {
		return f, nil
	}
	if f.side == sideNeither && surplus.Bent(w, f.object) {
		if err := (patching{}).keep(w, f.object); err != nil {
			return f, err
		}
		f.side = sideAfter
	}
	if f.side != sideAfter {
		return f, nil
	}
	if err := arrived(w, f.object); err != nil {
		return f, err
	}
	w.AppliedAt = &now
	return f, nil
}

// undecided is the record of a target of which nobody can find out now what became of
// its writes. Once they can't arrive any more it isn't one that is merely to be written
// again: is it never found out, its wave is undone, and this target with it.
func (p *pass) undecided(a *attempt) v1alpha1.TargetRecord {
	rec := a.previous
	if !p.targets.clock.Now().Before(p.landsUntil(a.target.Object.UID, &rec)) {
		rec.State = v1alpha1.TargetIntent
	}
	return rec
}

// halfDone is what becomes of a target once nothing of its fix is left.
func (p *pass) halfDone(a *attempt, found map[side]int) *v1alpha1.TargetRecord {
	switch {
	case found[sideGone] > 0:
		return a.skipped(v1alpha1.ReasonGone, "the object was deleted while its write was in flight")
	case found[sideNeither] > 0:
		lost := a.failed(v1alpha1.ReasonConflict,
			"somebody else has written the same fields while our write was in flight; what the object holds is theirs")
		lost.Preceding, lost.Write = a.previous.Preceding, a.previous.Write
		*lost = record.WithoutProofs(*lost)
		return lost
	case found[sideAfter] > 0:
		return a.retry("only a part of the fix had been written; it was taken back",
			p.targets.backoff(a.previous.Attempts))
	default:
		return p.notHappened(a)
	}
}

// notHappened is what becomes of a target whose write hasn't happened. While the
// write may still arrive its record stays, so that it is recognized; from then on
// what the object comes to hold is somebody else's.
func (p *pass) notHappened(a *attempt) *v1alpha1.TargetRecord {
	if !p.targets.clock.Now().Before(p.landsUntil(a.target.Object.UID, &a.previous)) {
		rec := a.pending("Retrying", "the recorded write hasn't happened, and can't any more; computing it anew")
		rec.Preceding, rec.Write = nil, nil
		return rec
	}
	if a.previous.State == v1alpha1.TargetPending { // nothing else is to be done for it now
		rec := a.awaitLanding("the recorded write hasn't happened yet, and still may")
		return &rec
	}
	return a.pending("Retrying", "the recorded write hadn't happened; computing it anew")
}

// takeBack undoes those of an attempt's writes that have happened, last first.
// Until that is done the intent stays; then the target's record is outcome.
func (p *pass) takeBack(ctx context.Context, a *attempt, outcome v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range slices.Backward(record.WritesOf(&a.previous)) {
		if w.AppliedAt == nil {
			continue
		}
		u := p.undoWrite(ctx, a.target.Object, w)
		if u.err != nil {
			return p.unknown(a.previous, u.err)
		}
		u = notExactly(u)
		if u.state == v1alpha1.TargetRevertConflict {
			lost := a.failed(u.reason, "only a part of the fix was written, and couldn't be taken back: "+u.message)
			lost.Preceding, lost.Write = a.previous.Preceding, a.previous.Write
			return record.WithoutProofs(*lost)
		}
	}
	return outcome
}
