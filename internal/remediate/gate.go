// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// gate asks whether new writes may begin: people first, of the plan and of its policy, then the calendar, then
// the RBAC, and the breakers last. No permit is taken: see permitted.
func (c *Controller) gate(ctx context.Context, rem *v1alpha1.Remediation, o rollout.Observation) (rollout.Gate, error) {
	pending := pendingOf(o.Targets)
	if len(pending) == 0 || !rem.Spec.Plan.Rollout.Mode.Runs() || o.Stop != "" || o.Abort != "" {
		return rollout.Gate{}, nil
	}
	for _, shut := range []rollout.Gate{rollout.PausedBy(rem, o.Now), c.overridden(rem), c.calendar(rem, o.Now),
		budget.Invalid(rem)} {
		if shut.Closed {
			return shut, nil
		}
	}
	rules, err := c.permissions.Missing(ctx, permissions.OnTargets(pending, rem.Spec.Plan.Rollout.AllowedActions))
	if err != nil {
		return rollout.Gate{}, err
	}
	if len(rules) > 0 {
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonMissingPermissions,
			Message: lackPermissions(rules)}, nil
	}
	return c.breakers.Consult(ctx, rem)
}

// overridden shuts the gate while a person has overridden the policy's enforcement: who
// thinks that a rule refuses what it shouldn't, wants no object changed by it either.
func (c *Controller) overridden(rem *v1alpha1.Remediation) rollout.Gate {
	o := c.policies.Snapshot().Override(rem.Spec.Plan.Policy.Name, c.clock.Now())
	if o == nil {
		return rollout.Gate{}
	}
	return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonPolicyOverridden,
		Message: fmt.Sprintf("no new write begins while policy %s is overridden: %s",
			rem.Spec.Plan.Policy.Name, o)}
}

// calendar asks the plan's windows and the cluster's freezes, unless a person lets this plan write all the same.
func (c *Controller) calendar(rem *v1alpha1.Remediation, now time.Time) rollout.Gate {
	if rem.Spec.IgnoresWindows() {
		return rollout.Gate{}
	}
	if shut := rollout.OutsideWindows(rem, now); shut.Closed {
		return shut
	}
	return c.freezes.Gate(now)
}

// stillOpen asks, right before a write, what may have changed since the step
// began: what people say of the plan, its policy, the windows, the
// freezes and the breakers.
func (c *Controller) stillOpen(ctx context.Context, rem *v1alpha1.Remediation) (rollout.Gate, error) {
	live := &v1alpha1.Remediation{}
	if err := c.reader.Get(ctx, client.ObjectKeyFromObject(rem), live); apierrors.IsNotFound(err) || err == nil &&
		live.UID != rem.UID {
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonPolicyChanged, Message: "the Remediation was deleted"},
			nil
	} else if err != nil {
		return rollout.Gate{}, err
	}
	if why := abort(live); why != "" {
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonAborted, Message: why}, nil
	}
	demoted, err := c.breakers.Demoted(ctx, rem.Spec.Plan.Policy.Name)
	if err != nil {
		return rollout.Gate{}, err
	}
	if reason, why, err := c.stopped(ctx, live, c.policies.Snapshot(), demoted); err != nil || why != "" {
		return rollout.Gate{Closed: true, Reason: reason, Message: why}, err
	}
	now := c.clock.Now()
	for _, shut := range []rollout.Gate{rollout.PausedBy(live, now), c.overridden(live), c.calendar(live, now)} {
		if shut.Closed {
			return shut, nil
		}
	}
	return c.breakers.Consult(ctx, rem)
}
