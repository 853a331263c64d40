package remediate

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// maxParallel is how many targets of a plan are worked on at a time.
const maxParallel = 8

// gather observes all that the next step may depend on.
func (c *Controller) gather(ctx context.Context, p *pass) (Observation, error) {
	demoted, err := c.breakers.demoted(ctx, p.rem.Spec.Policy.Name)
	if err != nil {
		return Observation{}, err
	}
	o := Observation{Now: c.clock.Now(), Spec: p.rem.Spec, Status: p.rem.Status, Targets: p.book.views()}
	o.StopReason, o.Stop = stop(p.rem, p.snapshot, demoted)
	switch o.Status.Phase {
	case "", v1alpha1.PhasePlanned, v1alpha1.PhaseApplying, v1alpha1.PhaseHeld:
		err = c.mayWrite(ctx, p, &o)
	case v1alpha1.PhaseVerifying:
		p.checkAll(ctx, &o)
		err = c.mayWrite(ctx, p, &o)
	case v1alpha1.PhaseSoaking:
		p.checkAll(ctx, &o) // a soak begins no write, and so asks for no gate
	case v1alpha1.PhasePreviewing, v1alpha1.PhaseRollingBack, v1alpha1.PhasePreviewed, v1alpha1.PhaseSucceeded,
		v1alpha1.PhaseRolledBack, v1alpha1.PhaseRollbackIncomplete, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted:
	}
	return o, err
}

// mayWrite asks whether new writes may begin now, and which targets of theirs not.
func (c *Controller) mayWrite(ctx context.Context, p *pass, o *Observation) (err error) {
	if o.Gate, err = c.gate(ctx, p.rem, *o); err != nil {
		return err
	}
	return c.breakers.bar(ctx, p.rem, o)
}

// stop says why a plan may begin no further target, or "". demoted is the policy's
// demotion, or nil.
func stop(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot, demoted *v1alpha1.BreakerDemotion) (reason, message string) {
	if rem.DeletionTimestamp != nil {
		return v1alpha1.ReasonPolicyChanged, "the Remediation is being deleted; writes in flight are verified or undone first"
	}
	current := snapshot.Definition(rem.Spec.Policy.Name)
	revision, _ := snapshot.Revision(rem.Spec.Policy.Name)
	switch {
	case current == nil || string(current.UID) != rem.Spec.Policy.UID:
		return v1alpha1.ReasonPolicyChanged, fmt.Sprintf("policy %s was deleted", rem.Spec.Policy.Name)
	case revision != rem.Spec.Policy.Revision:
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed from revision %s to %s; a new plan follows", rem.Spec.Policy.Name, rem.Spec.Policy.Revision, revision)
	}
	mode := current.Spec.Remediation.Mode
	if demoted != nil && mode.Runs() {
		mode = v1alpha1.RemediationDryRun
	}
	switch {
	case mode == rem.Spec.Strategy.Mode:
		return "", ""
	case mode != current.Spec.Remediation.Mode:
		return v1alpha1.ReasonDemoted, demoted.Message
	default:
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s changed spec.remediation.mode from %s to %s", rem.Spec.Policy.Name, rem.Spec.Strategy.Mode, mode)
	}
}

// gate asks the breakers and the RBAC whether new writes may begin.
func (c *Controller) gate(ctx context.Context, rem *v1alpha1.Remediation, o Observation) (Gate, error) {
	var pending []v1alpha1.ObjectReference
	for _, t := range o.Targets {
		if t.State == v1alpha1.TargetPending {
			pending = append(pending, t.Object)
		}
	}
	if len(pending) == 0 || rem.Spec.Strategy.Mode != v1alpha1.RemediationAutomatic || o.Stop != "" {
		return Gate{}, nil
	}
	rules, err := c.rights.missing(ctx, rulesFor(pending, rem.Spec.Strategy.AllowedActions))
	if err != nil {
		return Gate{}, err
	}
	if len(rules) > 0 {
		return Gate{Closed: true, Reason: v1alpha1.ReasonMissingRights,
			Message: "the controller lacks rights; add to a ClusterRole labelled rbac.evenkeel.dev/aggregate-to-writer: \"true\": " + strings.Join(rules, "; ")}, nil
	}
	return c.breakers.admit(ctx, rem)
}

// checkAll verifies the wave's written targets. While verifying, those that are
// verified already are left to the soak, which looks at all of them.
func (p *pass) checkAll(ctx context.Context, o *Observation) {
	m := o.members(o.Status.Wave)
	list := m.applied
	if o.Status.Phase == v1alpha1.PhaseSoaking {
		list = append(list, m.verified...)
	}
	inParallel(len(list), func(n int) { o.Targets[list[n]].Check = p.check(ctx, list[n], o.Stop != "") })
}

// inParallel calls do for 0 to n-1, a few at a time, and waits for all.
func inParallel(n int, do func(int)) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, maxParallel)
	for i := range n {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			do(i)
		})
	}
	wg.Wait()
}
