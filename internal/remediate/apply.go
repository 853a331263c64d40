// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// pass is one reconcile's work on the targets of a plan.
type pass struct {
	targets *targets
	saver   func(context.Context) error // persists the book
	// partners finds the plans that would write some of the objects now, too; nil when
	// nobody is to be asked.
	partners func(ctx context.Context, uids map[string]bool) []*partner
	rem      *v1alpha1.Remediation
	records  *record.Records
	// inForce are the policies as the pass began, by which its plan is stopped.
	inForce *catalog.Snapshot
	// snapshot judges objects by them.
	snapshot verdicts
	// gate is asked again right before each write; nil for never.
	gate *lastGate
	// landings are the writes that may still reach their objects.
	landings *landings
	// podsOf are the Pods that controllers have made, as they were listed in this pass.
	podsOf podLists
	// denied are targets that admission denied in this pass and that the breakers
	// haven't counted yet.
	denied []int
	// width is how many targets are worked on at a time; zero means maxParallel.
	width int
}

// verdicts is what the proof of a fix asks of the policies in force.
type verdicts interface {
	// Definition is a policy, or nil; shared.
	Definition(name string) *v1alpha1.ClusterRegoPolicy
	// Revision is the one of a policy that judges.
	Revision(name string) (string, bool)
	// EvaluateOne asks one policy; it isn't matched when it doesn't concern the object.
	EvaluateOne(ctx context.Context, name string, r *policy.Request) (catalog.Result, bool)
	// Evaluate asks every policy that concerns the object.
	Evaluate(ctx context.Context, r *policy.Request) []catalog.Result
}

// write carries out the protocol for a batch: prove each fix, persist every
// intent, only then send the writes, and persist what came of them.
func (p *pass) write(ctx context.Context, batch []int) error {
	attempts, records := p.prepare(ctx, batch)
	intents := p.intents(batch, attempts, records)
	joints, leave := p.joinAll(ctx, attempts, intents)
	defer leave()
	for n, j := range joints {
		rec, err := j.persist(ctx, records[n])
		if err != nil {
			return err
		}
		records[n] = rec
		p.records.Set(batch[n], rec)
	}
	if err := p.saver(ctx); err != nil {
		return err
	}
	p.inParallel(len(intents), func(k int) {
		n := intents[k]
		records[n] = p.send(ctx, attempts[n], records[n])
	})
	var errs []error
	for _, n := range intents {
		rec, err := joints[n].distribute(ctx, records[n])
		p.setRecord(batch[n], rec)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, p.saver(ctx))...)
}

// intents keeps the records of a batch, and finds which of them are of writes to be sent.
func (p *pass) intents(batch []int, attempts []*attempt, records []v1alpha1.TargetRecord) []int {
	var intents []int
	for n, i := range batch {
		intends := records[n].State == v1alpha1.TargetIntent
		if intends && !p.records.Fits(i, records[n]) {
			attempts[n].proveBriefly()
			if !p.records.Fits(i, records[n]) {
				records[n], intends = *attempts[n].tooLarge(sliceFull), false
			}
		}
		if intends {
			intents = append(intents, n)
		}
		p.setRecord(i, records[n])
	}
	return intents
}

// sliceFull says that a target isn't written because its undoing couldn't be recorded.
const sliceFull = "the slice that records the plan's writes has no room for what undoing this one needs: the next " +
	"plan tries it again"

// prepare runs the protocol for a batch; it changes no record.
func (p *pass) prepare(ctx context.Context, batch []int) ([]*attempt, []v1alpha1.TargetRecord) {
	attempts, records := make([]*attempt, len(batch)), make([]v1alpha1.TargetRecord, len(batch))
	for n, i := range batch {
		attempts[n] = p.attempt(i)
	}
	p.inParallel(len(batch), func(n int) { records[n] = attempts[n].prepare(ctx) })
	return attempts, records
}

// preview runs the protocol for a batch and stops before the intent.
func (p *pass) preview(ctx context.Context, batch []int) error {
	attempts, records := p.prepare(ctx, batch)
	for n, i := range batch {
		rec := records[n]
		if rec.State == v1alpha1.TargetIntent && !p.records.Fits(i, record.WithoutProofs(rec)) {
			rec = *attempts[n].tooLarge(sliceFull)
		}
		if rec.State == v1alpha1.TargetIntent {
			rec.State = v1alpha1.TargetPreviewed
			for _, w := range record.WritesOf(&rec) {
				w.IntentAt = nil
			}
			rec = record.WithoutProofs(rec)
		}
		p.setRecord(i, rec)
	}
	return p.saver(ctx)
}

func (p *pass) attempt(i int) *attempt {
	t, rec := p.records.Target(i), *p.records.Record(i).DeepCopy()
	if rec.Wave != nil {
		t.Wave = *rec.Wave
	}
	return &attempt{targets: p.targets, plan: p.rem.Spec.Plan, remediation: p.rem.Name, target: t,
		canary: rollout.CanaryWave(p.rem.Spec.Plan, t.Wave), previous: rec, snapshot: p.snapshot}
}

// setRecord keeps a target's new record. A denial is harm only where a write is meant:
// a dry run that is denied has told what it was asked.
func (p *pass) setRecord(i int, rec v1alpha1.TargetRecord) {
	if p.rem.Spec.Plan.Strategy.Mode.Runs() && rec.State == v1alpha1.TargetFailed &&
		rec.Reason == v1alpha1.ReasonAdmissionDenied {
		p.denied = append(p.denied, i)
	}
	p.records.Set(i, rec)
}

// send sends an attempt's recorded writes, in order. None changes anything unless
// its object is still as it was read; an answer that leaves the outcome open
// keeps the intent.
func (p *pass) send(ctx context.Context, a *attempt, rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for n, w := range a.writes {
		if n > 0 && w.Type == policy.ActionPatch && a.writes[n-1].Type == policy.ActionPatch {
			w.object = a.writes[n-1].object // as our own write left it
		}
		withheld := w.joint.recheck(ctx)
		if withheld == nil {
			withheld = p.recheck(ctx, a, n)
		}
		if withheld != nil {
			return p.withdrawn(ctx, a, withWrites(rec, a.writes), n, *withheld)
		}
		if err := p.sendOne(ctx, w); err != nil {
			return p.refused(ctx, a, withWrites(rec, a.writes), n, err)
		}
		now := metav1.NewMicroTime(p.targets.clock.Now())
		w.record.AppliedAt = &now
	}
	return applied(withWrites(rec, a.writes), metav1.NewMicroTime(p.targets.clock.Now()))
}

// sendOne sends a write, unless it is too late: then nothing of it can arrive when
// nobody expects it any more.
func (p *pass) sendOne(ctx context.Context, w *write) error {
	if at := w.record.IntentAt; at != nil && p.targets.clock.Now().Sub(at.Time) > sendWithin {
		return errNotSent
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return operationOf(w.Type).send(ctx, p.targets, w)
}

// errNotSent says that a write wasn't sent, for its record is too old.
var errNotSent = errors.New("the write wasn't sent: its record is too old by now")

// refused decides what the error of the nth write means; sent is the record with
// the writes that were to be sent. Only of a write whose outcome is unknown is the
// record kept: after a refusal, whatever the object holds is somebody else's. What
// was written before it is taken back, so that the fix is computed anew as a
// whole, or not at all.
func (p *pass) refused(ctx context.Context, a *attempt, sent v1alpha1.TargetRecord, n int,
	err error) v1alpha1.TargetRecord {
	_, kept := kube.KeptByBudget(err)
	if kube.Classify(err) == kube.Transient && !kept && !kube.DeniedByAdmission(err) && !errors.Is(err, errNotSent) {
		return p.unknown(sent, err)
	}
	var outcome *v1alpha1.TargetRecord
	if kube.Classify(err) == kube.Conflict && !kube.DeniedByAdmission(err) {
		outcome = a.retry("somebody else wrote the object first", kube.ConflictBackoff)
	} else {
		outcome = a.fromError(err)
	}
	return p.withdrawn(ctx, a, sent, n, *outcome)
}

// withdrawn is what becomes of a target whose nth write is known not to happen:
// what was written before it is taken back.
func (p *pass) withdrawn(ctx context.Context, a *attempt, sent v1alpha1.TargetRecord, n int,
	outcome v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	settled := a.keepLanding(outcome)
	if n == 0 {
		return settled
	}
	half := *a
	half.previous = sent
	return p.takeBack(ctx, &half, settled)
}

// unknown keeps the intent when it isn't known whether the write has happened.
func (p *pass) unknown(rec v1alpha1.TargetRecord, err error) v1alpha1.TargetRecord {
	rec.Reason = v1alpha1.ReasonOutcomeUnknown
	rec.Message = prose.Shorten("finding out whether the write has happened: "+err.Error(), 1024)
	next := metav1.NewMicroTime(p.targets.clock.Now().Add(p.targets.backoff(rec.Attempts)))
	rec.Attempts++
	rec.NextAttemptAt = &next
	return rec
}

// work does what the machine wants done with targets; one thing a step.
func (p *pass) work(ctx context.Context, intent rollout.Intent) error {
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
