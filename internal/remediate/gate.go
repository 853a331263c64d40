package remediate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
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

func pausedBy(rem *v1alpha1.Remediation) Gate {
	return Gate{Closed: rem.Spec.DesiredState == v1alpha1.StatePaused, Reason: v1alpha1.ReasonPaused,
		Message: fmt.Sprintf("a person has paused the rollout (%s); to go on: evenkeel rollout resume %s", rem.Spec.AskedBy(), rem.Name)}
}

// outsideWindows is closed while no maintenance window is open, and when one
// can't be read.
func outsideWindows(rem *v1alpha1.Remediation, now time.Time) Gate {
	window, err := canary.WindowState(rem.Spec.Plan.Strategy.Windows, now)
	switch {
	case err != nil:
		return Gate{Closed: true, Reason: v1alpha1.ReasonBudgetInvalid,
			Message: fmt.Sprintf("spec.remediation.%v: a window that can't be read is never open; mend it in policy %s", err, rem.Spec.Plan.Policy.Name)}
	case window.Open:
		return Gate{}
	case window.Opens.IsZero():
		return Gate{Closed: true, Reason: v1alpha1.ReasonNoWindow,
			Message: "no maintenance window is open, and none opens within five years; mend spec.remediation.windows of policy " + rem.Spec.Plan.Policy.Name}
	default:
		return Gate{Closed: true, Reason: v1alpha1.ReasonOutsideWindow,
			Message: "no maintenance window is open; the next opens at " + window.Opens.Format(time.RFC3339)}
	}
}

// budgetInvalid is closed while the plan's own budget allows nothing even with
// nothing in flight: it can't be read, and so means 0.
func budgetInvalid(rem *v1alpha1.Remediation) Gate {
	alone := canary.RoomFor([]canary.PlanAtWork{{Name: rem.Name, Budget: rem.Spec.Plan.Strategy.Budget, Targets: mayWrite(rem, nil)}})
	why := alone.Take("any namespace")
	return Gate{Closed: why != "", Reason: v1alpha1.ReasonBudgetInvalid, Message: why + "; mend spec.remediation.budget of policy " + rem.Spec.Plan.Policy.Name}
}
