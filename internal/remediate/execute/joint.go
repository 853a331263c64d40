// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
)

// joint is one write of one object for several plans: the plan that leads it sends
// one JSON Patch with the fixes of all, so that a workload restarts once. Each plan
// has the record of its own part, persisted before the write, and from then on goes
// its own way: a crash is resolved by each from the object alone, and each verifies,
// soaks and undoes its own fields.
type joint struct {
	lead *fix.Attempt
	// patched is the object after the fixes so far; result what the server would make
	// of it.
	patched map[string]any
	result  *unstructured.Unstructured
	ops     []policy.PatchOp
	keys    []policy.PatchOp
	fields  []action.Field
	parts   []*part
	// marking names the plan that leads at the object.
	marking action.Marking
}

// part is what one more plan contributes.
type part struct {
	partner *Partner
	target  int
	attempt *fix.Attempt
	before  v1alpha1.TargetRecord
	record  v1alpha1.TargetRecord
}

// joinable says whether an attempt is a single patch of the object itself, so that
// others can be written with it.
func joinable(a *fix.Attempt) bool {
	if len(a.Writes) != 1 || record.MayLand(&a.Previous) || a.Previous.Reason == v1alpha1.ReasonJointRefused {
		return false
	}
	return a.Writes[0].Subresource == "" && a.Writes[0].Type == v1alpha1.ActionPatch
}

// joinAll finds the plans that take part in the writes of a batch, by the attempt's
// place in it. They are to be left once their records are settled.
func (p *Pass) joinAll(ctx context.Context, attempts []*fix.Attempt, intents []int) (
	joints map[int]*joint, leave func()) {
	uids := map[string]bool{}
	for _, n := range intents {
		if joinable(attempts[n]) {
			uids[attempts[n].Target.Object.UID] = true
		}
	}
	if p.Partners == nil || len(uids) == 0 {
		return nil, func() {}
	}
	partners := p.Partners(ctx, uids)
	joints = map[int]*joint{}
	for _, n := range intents {
		if j := join(ctx, attempts[n], partners); j != nil {
			joints[n] = j
		}
	}
	return joints, func() {
		for _, one := range partners {
			one.Leave()
		}
	}
}

// join finds the plans that take part in an attempt's write. Nil when it is written alone.
func join(ctx context.Context, a *fix.Attempt, partners []*Partner) *joint {
	if !joinable(a) || len(partners) == 0 {
		return nil
	}
	w := a.Writes[0]
	j := &joint{lead: a, patched: a.Patched, result: w.Stored, ops: w.Ops, keys: w.Keys, fields: w.Fields,
		marking: w.Marking}
	for _, one := range partners {
		if one.Pass.looksUp() {
			continue // its targets are written in turn, and judged once its rules find what was written before
		}
		if i, ready := one.Ready[a.Target.Object.UID]; ready && one.Room > 0 {
			if added := j.add(ctx, one, i); added != nil {
				j.parts = append(j.parts, added)
				one.Room--
			}
		}
	}
	if len(j.parts) == 0 {
		return nil
	}
	w.Combined = &fix.Combined{Ops: j.ops, Keys: j.keys, Fields: j.fields, Recheck: j.recheck}
	return j
}

// add computes one more plan's fix on what the write makes so far, and proves all of
// them together. Nil when that plan has nothing to add, or its fix can't go along:
// it keeps its turn, and computes its fix from fresh state then.
func (j *joint) add(ctx context.Context, one *Partner, i int) *part {
	a := one.Pass.Attempt(i)
	before := *one.Pass.Records.Record(i).DeepCopy()
	if before.Reason == v1alpha1.ReasonJointRefused || record.MayLand(&before) {
		return nil
	}
	step, fits := j.compute(ctx, a)
	if !fits {
		return nil
	}
	marking := j.marked(a.Patched)
	w, result := j.dryRun(ctx, a, step, marking)
	if w == nil || !j.resolved(ctx, result.Object) ||
		a.Resolves(ctx, result.Object, "as the API server would store it") != nil {
		return nil
	}
	patched := a.Patched
	a.Object, a.Writes = j.lead.Object, []*fix.Write{w}
	if !passes(ctx, a, fix.StaysInReach, fix.KeepSecrets, fix.RecordWithinLimit, fix.AsApproved) {
		return nil
	}
	record, err := a.Intent()
	if err != nil || !one.Pass.Records.Fits(i, record) {
		return nil
	}
	j.patched, j.result, j.marking = patched, result, marking
	j.ops, j.keys, j.fields = append(clip(j.ops), step.Ops...), append(clip(j.keys), w.Keys...),
		append(clip(j.fields), w.Fields...)
	return &part{partner: one, target: i, attempt: a, before: before, record: record}
}

// compute makes a plan's fix of the object as the write leaves it so far, by the
// protocol that every fix passes. It doesn't fit when it isn't one plain patch, or
// when it would undo what others fix.
func (j *joint) compute(ctx context.Context, a *fix.Attempt) (action.Step, bool) {
	a.Object, a.Namespace = j.lead.Object, j.lead.Namespace
	if !passes(ctx, a, fix.RespectReach, fix.RespectOptOut, fix.JudgeAgain, fix.RespectOwnership, fix.RespectAllowed,
		fix.RequireHealth,
		fix.RequireKnownHealth) {
		return action.Step{}, false
	}
	a.Object = &unstructured.Unstructured{Object: j.patched}
	if !passes(ctx, a, fix.JudgeAgain, fix.RespectAllowed, fix.ComputeFix, fix.RespectFields, fix.PassEveryPolicy,
		fix.RequirePermissions) ||
		len(a.Steps) != 1 {
		return action.Step{}, false
	}
	step := a.Steps[0]
	markable := !a.Unmarkable || !j.marking.Sets()
	return step, a.Patched != nil && markable && step.Subresource == "" && step.Type == v1alpha1.ActionPatch &&
		j.resolved(ctx, a.Patched)
}

// clip keeps an append from writing into somebody else's list.
func clip[T any](list []T) []T { return list[:len(list):len(list)] }

func passes(ctx context.Context, a *fix.Attempt, steps ...fix.Check) bool {
	for _, step := range steps {
		if step(ctx, a) != nil {
			return false
		}
	}
	return true
}

// resolved says whether an object is clean for all the policies whose fixes are in it.
func (j *joint) resolved(ctx context.Context, object map[string]any) bool {
	all := []*fix.Attempt{j.lead}
	for _, p := range j.parts {
		all = append(all, p.attempt)
	}
	for _, a := range all {
		if a.Resolves(ctx, object, "with the fixes of other policies") != nil {
			return false
		}
	}
	return true
}

// dryRun sends all fixes as one server-side dry run. What changes beside what it did
// without this plan's fix is that plan's part, and no other's.
func (j *joint) dryRun(ctx context.Context, a *fix.Attempt, step action.Step, marking action.Marking) (
	*fix.Write, *unstructured.Unstructured) {
	object := j.lead.Object
	ops := append(action.Exact(object.Object), marking.Around(slices.Concat(j.ops, step.Ops))...)
	result, err := a.Targets.Patch(ctx, object, "", ops, client.DryRunAll)
	if err != nil {
		return nil, nil
	}
	w := &fix.Write{Step: step, Base: object, Stored: result, Fields: action.Diff(j.result.Object, result.Object)}
	w.Keys = action.Keys(object.Object, w.Fields)
	_, more := action.Beyond(action.Diff(j.patched, a.Patched), w.Fields)
	whole := len(action.Diff(object.Object, result.Object)) == len(j.fields)+len(w.Fields)
	if more || !whole || len(w.Fields) == 0 || action.Collide(j.fields, w.Fields) {
		return nil, nil
	}
	w.Record = v1alpha1.WriteRecord{Action: step.Type, UID: string(object.GetUID()),
		ResourceVersion: object.GetResourceVersion()}
	if w.Record.Forward, err = action.ToRecordOps(w.Ops); err == nil {
		w.Record.Keys, err = action.ToRecordOps(w.Keys)
	}
	if err == nil {
		err = fix.SetFields(&w.Record, w.Fields)
	}
	if err != nil {
		return nil, nil
	}
	return w, result
}

// marked is how the object is marked when the fixes make this of it.
func (j *joint) marked(patched map[string]any) action.Marking {
	if !j.marking.Sets() {
		return j.marking
	}
	return action.MarkingOf(j.lead.Object.Object, patched, j.lead.Remediation)
}

// expect puts into the record of the plan that leads what the object is to hold after the
// fixes of all, and the mark: it alone tells what else comes with their write.
func (j *joint) expect(lead v1alpha1.TargetRecord) (v1alpha1.TargetRecord, error) {
	w := &j.lead.Writes[0].Record
	proof, err := surplus.ExpectWrite(j.lead.Object, j.result, "")
	if err != nil {
		return lead, err
	}
	if w.Expected != nil && w.Expected.Places == nil {
		proof.Places = nil
	}
	w.Expected, j.lead.Writes[0].Marking = proof, j.marking
	if w.Forward, err = action.ToRecordOps(j.marking.Around(j.lead.Writes[0].Ops)); err != nil {
		return lead, err
	}
	return fix.WithWrites(lead, j.lead.Writes), nil
}

// persist saves the parts' intents, before the write, and returns that of the plan that
// leads.
func (j *joint) persist(ctx context.Context, lead v1alpha1.TargetRecord) (v1alpha1.TargetRecord, error) {
	for _, p := range j.parts {
		p.partner.Pass.Records.Set(p.target, p.record)
		if err := p.partner.Pass.Save(ctx); err != nil {
			return lead, fmt.Errorf("record the part of plan %s: %w", p.partner.Pass.Remediation.Name, err)
		}
	}
	return j.expect(lead)
}

// recheck asks each part once more, right before the write, as its own write would be
// asked. When one mustn't be sent any more, none is: all is computed anew without it.
func (j *joint) recheck(ctx context.Context) *v1alpha1.TargetRecord {
	for _, p := range j.parts {
		if rec := p.partner.Pass.recheck(ctx, p.attempt, 0); rec != nil {
			return j.lead.HeldBack("the part of plan " + p.partner.Pass.Remediation.Name +
				" mustn't be written any more: " +
				rec.Message)
		}
	}
	return nil
}

// distribute gives each part what came of the write, and returns the lead's record. What
// is refused for certain is blamed on nobody: all go back, and the lead writes alone.
func (j *joint) distribute(ctx context.Context, lead v1alpha1.TargetRecord) (v1alpha1.TargetRecord, error) {
	if j == nil {
		return lead, nil // it was written alone
	}
	now := metav1.NewMicroTime(j.lead.Targets.Clock.Now())
	var errs []error
	for _, p := range j.parts {
		rec := p.before
		switch lead.State {
		case v1alpha1.TargetApplied:
			rec = fix.Applied(fix.WithWrites(p.record, p.attempt.Writes), now)
			if err := (fix.Patching{}).Keep(rec.Write, j.lead.Writes[0].Base); err != nil {
				rec = p.partner.Pass.unknown(p.record, err)
			}
		case v1alpha1.TargetIntent:
			rec = p.partner.Pass.unknown(p.record, errors.New(lead.Message))
		case v1alpha1.TargetPending, v1alpha1.TargetVerified, v1alpha1.TargetDone, v1alpha1.TargetPreviewed,
			v1alpha1.TargetSkipped,
			v1alpha1.TargetFailed, v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
		}
		p.partner.Pass.Records.Set(p.target, rec)
		errs = append(errs, p.partner.Pass.Save(ctx))
	}
	if lead.State == v1alpha1.TargetFailed {
		alone := j.lead.Retry("the write of several plans was refused, and is tried alone: "+lead.Message,
			kube.ConflictBackoff)
		if alone.State == v1alpha1.TargetPending {
			alone.Reason, alone.Preceding, alone.Write = v1alpha1.ReasonJointRefused, nil, nil // it can't land any more
		}
		lead = *alone
	}
	return lead, errors.Join(errs...)
}
