// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Pass is one reconcile's work on the targets of a plan.
type Pass struct {
	Targets *targets.Client
	Save    func(context.Context) error // persists the records
	// Partners finds the plans that would write some of the objects now, too; nil when
	// nobody is to be asked.
	Partners    func(ctx context.Context, uids map[string]bool) []*Partner
	Remediation *v1alpha1.Remediation
	Records     *record.Records
	// InForce are the policies as the pass began, by which its plan is stopped.
	InForce *catalog.Snapshot
	// Snapshot judges objects by them.
	Snapshot targets.Verdicts
	// Gate is asked again right before each write; nil for never.
	Gate *LastGate
	// Landings are the writes that may still reach their objects.
	Landings *Landings
	// podsOf are the Pods that controllers have made, by the controller's UID, as they were listed in this pass.
	podsOf sync.Map
	// Denied are targets that admission denied in this pass and that the breakers
	// haven't counted yet.
	Denied []int
	// Scan is asked what the writes have brought to other objects, and Shown remembers since when it can tell; nil
	// where nobody scans.
	Scan  Scan
	Shown *Shown
	// around are the objects that began to violate since, as this pass has found them, and checking the targets whose
	// writes it asks about.
	around   neighbourhood
	checking []int
	// LookupPatience is how long a watch is waited for to show what was written; zero: as is usual.
	LookupPatience time.Duration
	// Width is how many targets are worked on at a time; zero means maxParallel.
	Width int
}

// write carries out the protocol for a batch.
func (p *Pass) write(ctx context.Context, batch []int) error {
	if err := p.targetsObservable(batch); err != nil {
		return p.putOff(ctx, batch, func(a *fix.Attempt) v1alpha1.TargetRecord { return a.AwaitScan(err) })
	}
	if p.looksUp() {
		return p.writeInTurn(ctx, batch)
	}
	return p.writeAtOnce(ctx, batch)
}

// writeAtOnce carries out the protocol for targets that don't depend on each other: prove each fix, persist every
// intent, only then send the writes, and persist what came of them.
func (p *Pass) writeAtOnce(ctx context.Context, batch []int) error {
	p.Records.Approved(batch)
	attempts, records := p.prepare(ctx, batch)
	p.awaitObservable(attempts, records)
	intents := p.intents(batch, attempts, records)
	joints, leave := p.joinAll(ctx, attempts, intents)
	defer leave()
	for n, j := range joints {
		rec, err := j.persist(ctx, records[n])
		if err != nil {
			return err
		}
		records[n] = rec
		p.Records.Set(batch[n], rec)
	}
	if err := p.Save(ctx); err != nil {
		return err
	}
	p.InParallel(len(intents), func(k int) {
		n := intents[k]
		records[n] = p.send(ctx, attempts[n], records[n])
	})
	var errs []error
	for _, n := range intents {
		rec, err := joints[n].distribute(ctx, records[n])
		p.SetRecord(batch[n], rec)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, p.Save(ctx))...)
}

// intents keeps the records of a batch, and finds which of them are of writes to be sent.
func (p *Pass) intents(batch []int, attempts []*fix.Attempt, records []v1alpha1.TargetRecord) []int {
	var intents []int
	for n, i := range batch {
		intends := records[n].State == v1alpha1.TargetIntent
		if intends && !p.Records.Fits(i, records[n]) {
			attempts[n].ProveBriefly()
			if !p.Records.Fits(i, records[n]) {
				records[n], intends = *attempts[n].TooLarge(sliceFull), false
			}
		}
		if intends {
			intents = append(intents, n)
		}
		p.SetRecord(i, records[n])
	}
	return intents
}

// sliceFull says that a target isn't written because its undoing couldn't be recorded.
const sliceFull = "the slice that records the plan's writes has no room for what undoing this one needs: the next " +
	"plan tries it again"

// prepare runs the protocol for a batch; it changes no record.
func (p *Pass) prepare(ctx context.Context, batch []int) ([]*fix.Attempt, []v1alpha1.TargetRecord) {
	attempts, records := make([]*fix.Attempt, len(batch)), make([]v1alpha1.TargetRecord, len(batch))
	for n, i := range batch {
		attempts[n] = p.Attempt(i)
	}
	p.InParallel(len(batch), func(n int) { records[n] = attempts[n].Prepare(ctx) })
	return attempts, records
}

// preview runs the protocol for a batch and stops before the intent.
func (p *Pass) preview(ctx context.Context, batch []int) error {
	attempts, records := p.prepare(ctx, batch)
	for n, i := range batch {
		rec := records[n]
		if rec.State == v1alpha1.TargetIntent && !p.Records.Fits(i, record.WithoutProofs(rec)) {
			rec = *attempts[n].TooLarge(sliceFull)
		}
		if rec.State == v1alpha1.TargetIntent {
			rec.State = v1alpha1.TargetPreviewed
			for _, w := range record.WritesOf(&rec) {
				w.IntentTime = nil
			}
			rec = record.WithoutProofs(rec)
		}
		p.SetRecord(i, rec)
	}
	return p.Save(ctx)
}

// Attempt is one try to fix the ith target.
func (p *Pass) Attempt(i int) *fix.Attempt {
	t, rec := p.Records.Target(i), *p.Records.Record(i).DeepCopy()
	if rec.Wave != nil {
		t.Wave = *rec.Wave
	}
	return &fix.Attempt{Targets: p.Targets, Plan: p.Remediation.Spec.Plan, Remediation: p.Remediation.Name, Target: t,
		Canary: rollout.CanaryWave(p.Remediation.Spec.Plan, t.Wave), Previous: rec, Snapshot: p.Snapshot}
}

// SetRecord keeps a target's new record. A denial is harm only where a write is meant:
// a dry run that is denied has told what it was asked.
func (p *Pass) SetRecord(i int, rec v1alpha1.TargetRecord) {
	if p.Remediation.Spec.Plan.Rollout.Mode.Runs() && rec.State == v1alpha1.TargetFailed &&
		rec.Reason == v1alpha1.ReasonAdmissionDenied {
		p.Denied = append(p.Denied, i)
	}
	p.Records.Set(i, rec)
}

// send sends an attempt's recorded writes, in order. None changes anything unless
// its object is still as it was read; an answer that leaves the outcome open
// keeps the intent.
func (p *Pass) send(ctx context.Context, a *fix.Attempt, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for n, w := range a.Writes {
		if n > 0 && w.Type == v1alpha1.ActionPatch && a.Writes[n-1].Type == v1alpha1.ActionPatch {
			w.Base = a.Writes[n-1].Base // as our own write left it
		}
		if withheld := p.withheld(ctx, a, n); withheld != nil {
			return p.withdrawn(ctx, a, fix.WithWrites(rec, a.Writes), n, *withheld)
		}
		if err := p.sendOne(ctx, w); err != nil {
			return p.refused(ctx, a, fix.WithWrites(rec, a.Writes), n, err)
		}
		now := metav1.NewMicroTime(p.Targets.Clock.Now())
		w.Record.AppliedTime = &now
	}
	return fix.Applied(fix.WithWrites(rec, a.Writes), metav1.NewMicroTime(p.Targets.Clock.Now()))
}

// withheld asks everybody whom the nth write concerns whether it may still be sent. It
// returns a record when it mustn't.
func (p *Pass) withheld(ctx context.Context, a *fix.Attempt, n int) *v1alpha1.TargetRecord {
	if all := a.Writes[n].Combined; all != nil {
		if rec := all.Recheck(ctx); rec != nil {
			return rec
		}
	}
	return p.recheck(ctx, a, n)
}

// sendOne sends a write, unless it is too late: then nothing of it can arrive when
// nobody expects it any more.
func (p *Pass) sendOne(ctx context.Context, w *fix.Write) error {
	if at := w.Record.IntentTime; at != nil && p.Targets.Clock.Now().Sub(at.Time) > sendWithin {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return fix.OperationOf(w.Type).Send(ctx, p.Targets, w)
}

// errNotSent says that a write wasn't sent, for its record is too old.
var errNotSent = errors.New("the write wasn't sent: its record is too old by now")

// refused decides what the error of the nth write means; sent is the record with
// the writes that were to be sent. Only of a write whose outcome is unknown is the
// record kept: after a refusal, whatever the object holds is somebody else's. What
// was written before it is taken back, so that the fix is computed anew as a
// whole, or not at all.
func (p *Pass) refused(ctx context.Context, a *fix.Attempt, sent v1alpha1.TargetRecord, n int,
	err error) v1alpha1.TargetRecord {
	_, kept := kube.KeptByBudget(err)
	refused := kept || kube.DeniedByAdmission(err) || kube.PutOffByAdmission(err) || errors.Is(err, errNotSent)
	if kube.Classify(err) == kube.Transient && !refused {
		return p.unknown(sent, err)
	}
	var outcome *v1alpha1.TargetRecord
	if kube.Classify(err) == kube.Conflict && !kube.DeniedByAdmission(err) {
		outcome = a.Retry("somebody else wrote the object first", kube.ConflictBackoff)
	} else {
		outcome = a.FromError(err)
	}
	return p.withdrawn(ctx, a, sent, n, *outcome)
}

// withdrawn is what becomes of a target whose nth write is known not to happen:
// what was written before it is taken back.
func (p *Pass) withdrawn(ctx context.Context, a *fix.Attempt, sent v1alpha1.TargetRecord, n int,
	outcome v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	settled := a.KeepLanding(outcome)
	if n == 0 {
		return settled
	}
	half := *a
	half.Previous = sent
	return p.takeBack(ctx, &half, settled)
}

// unknown keeps the intent when it isn't known whether the write has happened.
func (p *Pass) unknown(rec v1alpha1.TargetRecord, err error) v1alpha1.TargetRecord {
	rec.Reason = v1alpha1.ReasonOutcomeUnknown
	rec.Message = prose.Shorten("finding out whether the write has happened: "+err.Error(), 1024)
	next := metav1.NewMicroTime(p.Targets.Clock.Now().Add(p.Targets.Backoff(rec.Attempts)))
	rec.Attempts++
	rec.NextAttemptTime = &next
	return rec
}

// Work does what the machine wants done with targets; one thing a step.
func (p *Pass) Work(ctx context.Context, intent rollout.Intent) error {
	switch {
	case len(intent.Resolve) > 0:
		return p.resolve(ctx, intent.Resolve)
	case len(intent.Write) > 0:
		return p.write(ctx, intent.Write)
	case len(intent.Preview) > 0:
		return p.preview(ctx, intent.Preview)
	case len(intent.Revert) > 0:
		return p.revert(ctx, intent.Revert)
	default:
		return nil
	}
}
