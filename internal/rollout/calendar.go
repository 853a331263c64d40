// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// PausedBy is closed while a person has paused the plan.
func PausedBy(rem *v1alpha1.Remediation, now time.Time) Gate {
	return Gate{Closed: rem.Spec.Paused(now), Reason: v1alpha1.ReasonPaused,
		Message: fmt.Sprintf("a person has paused the rollout%s (%s); to go on: evenkeel rollout resume %s",
			v1alpha1.UntilText(rem.Spec.PausedUntilTime), rem.AskedBy(), rem.Name)}
}

// OutsideWindows is closed while no maintenance window is open, and when one
// can't be read.
func OutsideWindows(rem *v1alpha1.Remediation, now time.Time) Gate {
	window, err := canary.WindowState(rem.Spec.Plan.Rollout.Windows, now)
	switch {
	case err != nil:
		return Gate{Closed: true, Reason: v1alpha1.ReasonStrategyInvalid,
			Message: fmt.Sprintf("%v: a window that can't be read is never open; fix it in the strategy of policy %s",
				err, rem.Spec.Plan.Policy.Name)}
	case window.Open:
		return Gate{}
	case window.Opens.IsZero():
		return Gate{Closed: true, Reason: v1alpha1.ReasonNoWindow,
			Message: "no maintenance window is open, and none opens within five years; fix windows in the strategy " +
				"of policy " + rem.Spec.Plan.Policy.Name}
	default:
		return Gate{Closed: true, Reason: v1alpha1.ReasonOutsideWindow,
			Message: "no maintenance window is open; the next opens at " + window.Opens.Format(time.RFC3339)}
	}
}
