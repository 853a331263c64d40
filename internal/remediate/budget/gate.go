// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Invalid is closed while the plan's own budget allows nothing even with
// nothing in flight: it can't be read, and so means 0.
func Invalid(rem *v1alpha1.Remediation) rollout.Gate {
	alone := canary.RoomFor(
		[]canary.PlanAtWork{{Name: rem.Name, Budget: rem.Spec.Plan.Strategy.Budget, Targets: MayWrite(rem, nil)}})
	why := alone.Take("any namespace")
	return rollout.Gate{Closed: why != "", Reason: v1alpha1.ReasonStrategyInvalid,
		Message: why + "; fix spec.remediation.budget of policy " + rem.Spec.Plan.Policy.Name}
}
