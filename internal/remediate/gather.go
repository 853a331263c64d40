// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// gather observes all that the next step may depend on.
func (c *Controller) gather(ctx context.Context, p *pass) (rollout.Observation, error) {
	return c.observe(ctx, p, c.observers(p.rem.Status))
}

// observe gathers what the looks given need.
func (c *Controller) observe(ctx context.Context, p *pass, looks []observer) (rollout.Observation, error) {
	demoted, err := c.breakers.Demoted(ctx, p.rem.Spec.Plan.Policy.Name)
	if err != nil {
		return rollout.Observation{}, err
	}
	now := c.clock.Now()
	clampTimes(&p.rem.Status, now)
	c.soaks.measure(p.rem.Name, &p.rem.Status, now)
	spec, mostInWave := withinFloors(&c.floors, p.rem)
	o := rollout.Observation{Now: now, UID: p.rem.UID, Spec: spec, MostInWave: mostInWave,
		Status: *p.rem.Status.DeepCopy(), Targets: p.records.Views(), Abort: abort(p.rem)}
	p.atLandings(o.Targets)
	clampTargets(o.Targets, o.Status, now)
	if o.StopReason, o.Stop, err = c.stopped(ctx, p.rem, p.inForce, demoted); err != nil {
		return rollout.Observation{}, err
	}
	if o.Stop == "" && o.Abort == "" {
		if o.Stop, err = c.breakers.Outlasted(ctx, p.rem, pendingOf(o.Targets)); err != nil {
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
type observer func(context.Context, *pass, *rollout.Observation) error

// observers are what a phase needs to know, in order: the gate isn't asked before
// the plan is approved.
func (c *Controller) observers(s v1alpha1.RemediationStatus) []observer {
	switch s.Phase {
	case "", v1alpha1.PhasePlanned, v1alpha1.PhaseAwaitingApproval:
		return []observer{c.observeApproval, c.observeGate}
	case v1alpha1.PhaseApplying:
		return []observer{c.observeMetrics, c.observeGate, c.observeBudgets}
	case v1alpha1.PhaseVerifying:
		return []observer{c.observeTargets, c.observeMetrics, c.observeGate}
	case v1alpha1.PhaseSoaking:
		return []observer{c.observeTargets, c.observeMetrics} // a soak begins no write
	case v1alpha1.PhaseHeld:
		return c.observersOfHold(s.HeldFrom)
	case v1alpha1.PhaseRollingBack:
		return []observer{c.observeRecovery, c.observeRollbackRoom}
	case v1alpha1.PhasePreviewing, v1alpha1.PhasePreviewed, v1alpha1.PhaseSucceeded,
		v1alpha1.PhaseRolledBack, v1alpha1.PhaseRollbackIncomplete, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted:
	}
	return nil
}

func (c *Controller) observersOfHold(from v1alpha1.RemediationPhase) []observer {
	switch from {
	case v1alpha1.PhaseVerifying:
		return nil // a person decides
	case v1alpha1.PhaseSoaking:
		return []observer{c.observeTargets, c.observeMetrics}
	case v1alpha1.PhaseApplying:
		return []observer{c.observeMetrics, c.observeGate}
	default:
		return []observer{c.observeApproval, c.observeGate}
	}
}

// observeApproval looks whether a person has answered. A plan in mode Manual is never
// approved unless an answer was found.
func (c *Controller) observeApproval(ctx context.Context, p *pass, o *rollout.Observation) (err error) {
	o.Approval, err = c.answers.Read(ctx, p.rem)
	return err
}

// observeMetrics looks what metrics say of the wave. What is learned is persisted
// with this step; the machine sees the records as they were persisted before.
func (c *Controller) observeMetrics(ctx context.Context, p *pass, o *rollout.Observation) error {
	o.Analysis = c.analyse(ctx, p.rem, *o)
	return nil
}

func (c *Controller) observeTargets(ctx context.Context, p *pass, o *rollout.Observation) error {
	p.checkAll(ctx, o)
	return nil
}

func (c *Controller) observeGate(ctx context.Context, p *pass, o *rollout.Observation) (err error) {
	if o.Unanswered() || o.Abort != "" {
		return nil
	}
	if o.Gate, err = c.gate(ctx, p.rem, *o); err != nil {
		return err
	}
	if !o.Gate.Closed && o.Stop == "" && o.Abort == "" && o.Spec.Plan.Strategy.Mode.Runs() {
		o.Gate = p.targets.unknownHealth(ctx, o.Spec.Plan.Strategy, o.Spec.Plan.Policy.Name, p.snapshot,
			pendingOf(o.Targets))
	}
	return c.breakers.Bar(ctx, p.rem, o)
}

// abort says that a person wants the plan undone and ended, or "".
func abort(rem *v1alpha1.Remediation) string {
	by, why := "a person", ""
	if asked := rem.Spec.AskedBy(); asked != nil {
		by = asked.User
		if asked.Reason != "" {
			why = ": " + asked.Reason
		}
	}
	switch rem.Spec.DesiredState {
	case v1alpha1.StateUndone:
		return by + " has all of the plan undone (spec.desiredState: Undone)" + why
	case v1alpha1.StateAborted:
		return by + " has ended the rollout (spec.desiredState: Aborted)" + why
	case v1alpha1.StateRunning, v1alpha1.StatePaused:
	}
	return ""
}

// stop says why a plan may begin no further target, or "". demoted is the policy's
// demotion, or nil.
func stop(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot, demoted *v1alpha1.BreakerDemotion,
	floors *limits.Floors) (reason, message string) {
	if rem.DeletionTimestamp != nil {
		return v1alpha1.ReasonPolicyChanged,
			"the Remediation is being deleted; writes in flight are verified or undone first"
	}
	current := snapshot.Definition(rem.Spec.Plan.Policy.Name)
	revision, _ := snapshot.Revision(rem.Spec.Plan.Policy.Name)
	switch {
	case current == nil || string(current.UID) != rem.Spec.Plan.Policy.UID:
		return v1alpha1.ReasonPolicyChanged, fmt.Sprintf("policy %s was deleted", rem.Spec.Plan.Policy.Name)
	case revision != rem.Spec.Plan.Policy.Revision:
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed from revision %s to %s; a new plan follows", rem.Spec.Plan.Policy.Name,
				rem.Spec.Plan.Policy.Revision, revision)
	}
	if reason, message = strategyStops(rem, current, snapshot); message != "" {
		return reason, message
	}
	asked := current.Spec.Remediation.Mode
	allowed := floors.Mode(asked)
	mode := allowed
	if demoted != nil && mode.Runs() {
		mode = v1alpha1.RemediationDryRun
	}
	switch {
	case mode == rem.Spec.Plan.Strategy.Mode:
		return "", ""
	case mode != allowed:
		return v1alpha1.ReasonDemoted, demoted.Message
	case mode != asked:
		return v1alpha1.ReasonAdministratorLimit, limitedMode(rem.Spec.Plan.Policy.Name, asked, allowed)
	default:
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed spec.remediation.mode from %s to %s", rem.Spec.Plan.Policy.Name,
				rem.Spec.Plan.Strategy.Mode, mode)
	}
}
