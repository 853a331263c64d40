// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/evidence"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// gather observes all that the next step may depend on.
func (c *Controller) gather(ctx context.Context, p *execute.Pass) (rollout.Observation, error) {
	return c.observe(ctx, p, c.observers(p.Remediation.Status))
}

// observe gathers what the looks given need.
func (c *Controller) observe(ctx context.Context, p *execute.Pass, looks []observer) (rollout.Observation, error) {
	demoted, err := c.breakers.Demoted(ctx, p.Remediation.Spec.Plan.Policy.Name)
	if err != nil {
		return rollout.Observation{}, err
	}
	now := c.clock.Now()
	clampTimes(&p.Remediation.Status, now)
	c.soaks.measure(p.Remediation.Name, &p.Remediation.Status, now)
	spec, mostInWave := withinFloors(&c.floors, p.Remediation)
	o := rollout.Observation{Now: now, UID: p.Remediation.UID, Spec: spec, MostInWave: mostInWave,
		Requests: v1alpha1.Requests(p.Remediation),
		Status:   *p.Remediation.Status.DeepCopy(), Targets: p.Records.Views(), Abort: abort(p.Remediation),
		PollInterval: c.pollInterval}
	p.AtLandings(o.Targets)
	clampTargets(o.Targets, o.Status, now)
	if o.StopReason, o.Stop, err = c.stopped(ctx, p.Remediation, p.InForce, demoted); err != nil {
		return rollout.Observation{}, err
	}
	if o.Stop == "" && o.Abort == "" {
		if o.Stop, err = c.breakers.Outlasted(ctx, p.Remediation, pendingOf(o.Targets)); err != nil {
			return rollout.Observation{}, err
		}
		if o.Stop != "" {
			o.StopReason = v1alpha1.ReasonBreakerOpen
		}
	}
	for _, look := range looks {
		if err := look(ctx, p, &o); err != nil {
			return o, err
		}
	}
	return o, nil
}

// observer observes one thing. What was observed before it is in the observation.
type observer func(context.Context, *execute.Pass, *rollout.Observation) error

// observers observe what a phase needs to know, in order.
func (c *Controller) observers(s v1alpha1.RemediationStatus) []observer {
	all := map[rollout.Need]observer{
		rollout.NeedApproval: c.observeApproval, rollout.NeedGate: c.observeGate, rollout.NeedMetrics: c.observeMetrics,
		rollout.NeedBudgets: c.observeBudgets, rollout.NeedTargets: c.observeTargets,
		rollout.NeedRecovery: c.observeRecovery, rollout.NeedRollbackRoom: c.observeRollbackRoom,
	}
	needs := rollout.Needs(s)
	observers := make([]observer, len(needs))
	for i, need := range needs {
		observers[i] = all[need]
	}
	return observers
}

// observeApproval looks whether a person has answered. A plan in mode Manual is never
// approved unless an answer was found.
func (c *Controller) observeApproval(ctx context.Context, p *execute.Pass, o *rollout.Observation) (err error) {
	proposal, waits, err := c.proposal(ctx, p)
	if err != nil {
		return err
	}
	o.Approval, err = c.answers.Read(ctx, p.Remediation, proposal, waits)
	return err
}

// observeMetrics looks what metrics say of the wave. What is learned is persisted
// with this step; the machine sees the records as they were persisted before.
func (c *Controller) observeMetrics(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	o.Analysis = c.analyse(ctx, p.Remediation, *o)
	return nil
}

func (c *Controller) observeTargets(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	p.CheckAll(ctx, o)
	return nil
}

func (c *Controller) observeGate(ctx context.Context, p *execute.Pass, o *rollout.Observation) (err error) {
	if o.Unanswered() || o.Abort != "" {
		return nil
	}
	if o.Gate, err = c.gate(ctx, p.Remediation, *o); err != nil {
		return err
	}
	if !o.Gate.Closed && o.Stop == "" && o.Abort == "" && o.Spec.Plan.Rollout.Mode.Runs() {
		if unknown := fix.UnknownHealth(ctx, p.Targets, o.Spec.Plan.Rollout, o.Spec.Plan.Policy.Name, p.Snapshot,
			pendingOf(o.Targets)); unknown.Closed {
			o.Gate = unknown
		}
	}
	if !o.Gate.Closed {
		o.Bar(o.Gate.KeptBack)
	}
	return nil
}

// pendingOf are the objects of a plan that are still to be written.
func pendingOf(views []rollout.TargetView) []v1alpha1.ObjectReference {
	var pending []v1alpha1.ObjectReference
	for _, t := range views {
		if t.State == v1alpha1.TargetPending {
			pending = append(pending, t.Object)
		}
	}
	return pending
}

// maxRecoveryReads bounds how many objects a step looks at that were undone.
const maxRecoveryReads = 64

// observeRecovery looks whether the objects whose write was undone are well again.
func (c *Controller) observeRecovery(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	var list []int
	for i, t := range o.Targets {
		if t.Recovering {
			list = append(list, i)
		}
	}
	// A large rollback is looked at in turn, by the time, so that none is forgotten.
	if turn := int(o.Now.Unix()) % max(len(list), 1); len(list) > maxRecoveryReads {
		list = slices.Concat(list[turn:], list[:turn])[:maxRecoveryReads]
	}
	p.InParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.CheckRecovered(ctx, list[n]) })
	return nil
}

// observeRollbackRoom bars the targets whose undoing must wait for room, and reserves
// room for the others.
func (c *Controller) observeRollbackRoom(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	c.budgets.ReserveUndo(ctx, p.Remediation, p.Records, o)
	return nil
}

// observeBudgets bars the targets of the wave that no budget has room for now, or whose
// objects other plans have in work, and reserves room for those that the step may write.
func (c *Controller) observeBudgets(ctx context.Context, p *execute.Pass, o *rollout.Observation) error {
	m := o.Members(o.Status.Wave)
	if n := int(o.Spec.Plan.Rollout.MaxInFlight) - len(m.Applied); n > 0 && len(m.Ready) > 0 && len(m.Intents) == 0 &&
		o.Open() {
		return c.budgets.Reserve(ctx, p.Remediation, p.Records, o, m.Ready, n)
	}
	return nil
}

// keepEvidence keeps what is to be seen of the targets that have failed in this step. It is stored by the very
// write of the status that begins the rollback: who dies before it verifies, and looks, once more, and nothing
// is undone before it.
func (c *Controller) keepEvidence(ctx context.Context, p *execute.Pass, intent rollout.Intent) {
	if len(intent.Failed) == 0 {
		return
	}
	var subjects []evidence.Subject
	for _, i := range intent.Failed {
		subjects = append(subjects, evidence.SubjectOf(p.Records.Target(i).Object, p.Records.Record(i).Write))
	}
	s := &p.Remediation.Status
	s.Evidence = evidence.Merge(s.Evidence, evidence.Collect(ctx, c.reader, subjects, c.clock.Now()))
}
