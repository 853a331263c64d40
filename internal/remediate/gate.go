package remediate

import (
	"context"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rights"
)

// gate asks whether new writes may begin: people first, then the calendar, then
// the RBAC, and the breakers last. No permit is taken: see permitted.
func (c *Controller) gate(ctx context.Context, rem *v1alpha1.Remediation, o Observation) (Gate, error) {
	pending := pendingOf(o.Targets)
	if len(pending) == 0 || !rem.Spec.Plan.Strategy.Mode.Runs() || o.Stop != "" || o.Abort != "" {
		return Gate{}, nil
	}
	for _, shut := range []Gate{pausedBy(rem), outsideWindows(rem, o.Now), budgetInvalid(rem)} {
		if shut.Closed {
			return shut, nil
		}
	}
	rules, err := c.rights.Missing(ctx, rights.OnTargets(pending, rem.Spec.Plan.Strategy.AllowedActions))
	if err != nil {
		return Gate{}, err
	}
	if len(rules) > 0 {
		return Gate{Closed: true, Reason: v1alpha1.ReasonMissingRights,
			Message: "the controller lacks rights; add to a ClusterRole labelled rbac.evenkeel.dev/aggregate-to-writer: \"true\": " + strings.Join(rules, "; ")}, nil
	}
	return c.breakers.consult(ctx, rem)
}
