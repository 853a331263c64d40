package remediate

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// pass is one reconcile's work on the targets of a plan.
type pass struct {
	targets  *targets
	saver    func(context.Context) error // persists the book
	rem      *v1alpha1.Remediation
	book     *book
	snapshot *catalog.Snapshot
	// denied are targets that admission denied in this pass and that the breakers
	// haven't counted yet.
	denied []int
}

// write carries out the protocol for a batch: prove each fix, persist every
// intent, only then send the writes, and persist what came of them.
func (p *pass) write(ctx context.Context, batch []int) error {
	attempts, records := p.prepare(ctx, batch)
	var intents []int
	for n, i := range batch {
		rec := records[n]
		if rec.State == v1alpha1.TargetIntent && !p.book.fits(i, rec) {
			rec = *attempts[n].failed(v1alpha1.ReasonFixTooLarge, "the slice that records the plan's writes is full")
		}
		if rec.State == v1alpha1.TargetIntent {
			intents = append(intents, n)
		}
		p.settle(i, rec)
	}
	if err := p.saver(ctx); err != nil {
		return err
	}
	inParallel(len(intents), func(k int) {
		n := intents[k]
		records[n] = p.send(ctx, attempts[n], records[n])
	})
	for _, n := range intents {
		p.settle(batch[n], records[n])
	}
	return p.saver(ctx)
}

// prepare runs the protocol for a batch; it changes no record.
func (p *pass) prepare(ctx context.Context, batch []int) ([]*attempt, []v1alpha1.TargetRecord) {
	attempts, records := make([]*attempt, len(batch)), make([]v1alpha1.TargetRecord, len(batch))
	for n, i := range batch {
		attempts[n] = p.attempt(i)
	}
	inParallel(len(batch), func(n int) { records[n] = attempts[n].prepare(ctx) })
	return attempts, records
}

// preview runs the protocol for a batch and stops before the intent.
func (p *pass) preview(ctx context.Context, batch []int) error {
	_, records := p.prepare(ctx, batch)
	for n, i := range batch {
		rec := records[n]
		if rec.State == v1alpha1.TargetIntent {
			rec.State = v1alpha1.TargetPreviewed
			rec.Write.IntentAt = nil
		}
		p.settle(i, rec)
	}
	return p.saver(ctx)
}

func (p *pass) attempt(i int) *attempt {
	t, rec := p.book.target(i), *p.book.record(i)
	if rec.Wave != nil {
		t.Wave = *rec.Wave
	}
	return &attempt{targets: p.targets, plan: p.rem.Spec, target: t, canary: t.Wave == 0, previous: rec, snapshot: p.snapshot}
}

func (p *pass) settle(i int, rec v1alpha1.TargetRecord) {
	if rec.State == v1alpha1.TargetFailed && rec.Reason == v1alpha1.ReasonAdmissionDenied {
		p.denied = append(p.denied, i)
	}
	p.book.set(i, rec)
}

// send sends a recorded write. The patch changes nothing unless the object is
// still as it was read; an answer that leaves the outcome open keeps the intent.
func (p *pass) send(ctx context.Context, a *attempt, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	ops := action.Forward(a.object.Object, action.Ops(a.decision.Actions), a.keys, a.fields)
	result, err := p.targets.patch(ctx, a.object, ops)
	if err == nil {
		return appliedRecord(rec, result, a.fields, p.targets.clock.Now())
	}
	a.previous = rec
	switch kube.Classify(err) {
	case kube.Conflict:
		return *a.retry("somebody else wrote the object first", conflictBackoff)
	case kube.Gone, kube.Invalid, kube.Forbidden:
		return *a.fromError(err)
	case kube.OK, kube.Transient:
	}
	if kube.DeniedByAdmission(err) {
		return *a.fromError(err)
	}
	return p.unknown(rec, err)
}

// appliedRecord records a write that is known to have reached the object, with
// the values that the server really stored.
func appliedRecord(rec v1alpha1.TargetRecord, stored *unstructured.Unstructured, fields []action.Field, at time.Time) v1alpha1.TargetRecord {
	write := *rec.Write
	now := metav1.NewMicroTime(at)
	write.AppliedAt = &now
	for i, seen := range action.Observe(stored.Object, fields) {
		fields[i].After, fields[i].HasAfter = seen.After, seen.HasAfter
	}
	if err := setFields(&write, fields); err == nil {
		rec.Write = &write
	}
	rec.State, rec.Reason, rec.Message, rec.NextAttemptAt, rec.Attempts = v1alpha1.TargetApplied, "", "", nil, 0
	return rec
}

// unknown keeps the intent when it isn't known whether the write has happened.
func (p *pass) unknown(rec v1alpha1.TargetRecord, err error) v1alpha1.TargetRecord {
	rec.Reason = "OutcomeUnknown"
	rec.Message = truncate("finding out whether the write has happened: "+err.Error(), 1024)
	next := metav1.NewMicroTime(p.targets.clock.Now().Add(p.targets.backoff(rec.Attempts)))
	rec.Attempts++
	rec.NextAttemptAt = &next
	return rec
}

// resolve finds out what became of recorded writes, from the objects themselves.
// It writes to no object: a write that hasn't happened goes back to pending, and
// is computed anew.
func (p *pass) resolve(ctx context.Context, batch []int) error {
	for _, i := range batch {
		rec := *p.book.record(i)
		obj, side, err := p.locate(ctx, p.book.target(i).Object, rec.Write)
		a := p.attempt(i)
		switch {
		case kube.Classify(err) == kube.Gone || side == sideReplaced:
			p.settle(i, *a.skipped(v1alpha1.ReasonGone, "the object was deleted while its write was in flight"))
		case err != nil:
			p.settle(i, p.unknown(rec, err))
		case side == sideAfter:
			fields, err := action.FromRecordFields(rec.Write.Fields)
			if err != nil {
				return fmt.Errorf("the record of %s can't be read: %w", name(p.book.target(i).Object), err)
			}
			p.settle(i, appliedRecord(rec, obj, fields, p.targets.clock.Now()))
		case side == sideBefore:
			// The record stays: should the write still arrive, it is recognized.
			p.settle(i, *a.pending("Retrying", "the recorded write hadn't happened; computing it anew"))
		default:
			lost := a.failed(v1alpha1.ReasonConflict, "somebody else has written the same fields while our write was in flight; what the object holds is theirs")
			lost.Write = rec.Write
			p.settle(i, *lost)
		}
	}
	return p.saver(ctx)
}

// side says which state of a recorded write an object is in.
type side int

const (
	sideNeither side = iota
	sideBefore
	sideAfter
	sideReplaced
)

// locate reads an object anew and compares the recorded fields with it.
func (p *pass) locate(ctx context.Context, ref v1alpha1.ObjectReference, write *v1alpha1.WriteRecord) (*unstructured.Unstructured, side, error) {
	obj, err := p.targets.read(ctx, ref)
	if err != nil {
		return nil, sideNeither, err
	}
	if write == nil {
		return obj, sideBefore, nil
	}
	s, err := sideOf(obj, write)
	return obj, s, err
}

// sideOf compares the recorded fields of a write with an object.
func sideOf(obj *unstructured.Unstructured, write *v1alpha1.WriteRecord) (side, error) {
	if string(obj.GetUID()) != write.UID {
		return sideReplaced, nil
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
