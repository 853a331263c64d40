package remediate

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// budgetInvalid is closed while the plan's own budget allows nothing even with
// nothing in flight: it can't be read, and so means 0.
func budgetInvalid(rem *v1alpha1.Remediation) Gate {
	alone := canary.RoomFor([]canary.PlanAtWork{{Name: rem.Name, Budget: rem.Spec.Plan.Strategy.Budget, Targets: mayWrite(rem, nil)}})
	why := alone.Take("any namespace")
	return Gate{Closed: why != "", Reason: v1alpha1.ReasonBudgetInvalid, Message: why + "; mend spec.remediation.budget of policy " + rem.Spec.Plan.Policy.Name}
}
