// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// Invalid is closed while the plan's own limits allow nothing even with
// nothing in flight: one can't be read, and so means 0.
func Invalid(rem *v1alpha1.Remediation) rollout.Gate {
	r, field := &rem.Spec.Plan.Rollout, ""
	switch {
	case r.MaxInFlight < 1:
		field = "maxInFlight"
	case r.MaxPerNamespace < 0:
		field = "maxPerNamespace"
	default:
		return rollout.Gate{}
	}
	return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonStrategyInvalid,
		Message: fmt.Sprintf("%s of plan %s allows none; fix it in the strategy of policy %s", field, rem.Name,
			rem.Spec.Plan.Policy.Name)}
}
