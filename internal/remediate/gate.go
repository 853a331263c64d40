// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// gate asks whether new writes may begin: people first, then the calendar, then
// the RBAC, and the breakers last. No permit is taken: see permitted.
func (c *Controller) gate(ctx context.Context, rem *v1alpha1.Remediation, o rollout.Observation) (rollout.Gate, error) {
	pending := pendingOf(o.Targets)
	if len(pending) == 0 || !rem.Spec.Plan.Strategy.Mode.Runs() || o.Stop != "" || o.Abort != "" {
		return rollout.Gate{}, nil
	}
	for _, shut := range []rollout.Gate{rollout.PausedBy(rem), rollout.OutsideWindows(rem, o.Now),
		budget.Invalid(rem)} {
		if shut.Closed {
			return shut, nil
		}
	}
	rules, err := c.permissions.Missing(ctx, permissions.OnTargets(pending, rem.Spec.Plan.Strategy.AllowedActions))
	if err != nil {
		return rollout.Gate{}, err
	}
	if len(rules) > 0 {
		return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonMissingPermissions,
			Message: "the controller lacks permissions; add to a ClusterRole labelled " +
				"rbac.evenkeel.dev/aggregate-to-writer: \"true\": " + strings.Join(rules, "; ")}, nil
	}
	return c.breakers.Consult(ctx, rem)
}
