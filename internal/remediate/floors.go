// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
)

// What the cluster's administrator asks of every strategy holds twice: when a plan is
// drafted, so that what it freezes keeps to it, and again at every step, for plans that
// were made before the flags were set. The tighter of the two counts. Undoing is never
// slowed by it: a rollback keeps to what its plan has frozen.

// writable is the number of targets that a plan may write.
func writable(plan *v1alpha1.RemediationPlan) int {
	if plan.Writable > 0 {
		return int(plan.Writable)
	}
	return int(plan.Targets)
}

// withinFloors is a plan as it may be rolled out now. What is being undone keeps to what the
// plan has frozen.
func withinFloors(floors *limits.Floors, rem *v1alpha1.Remediation) (spec v1alpha1.RemediationSpec, mostInWave int) {
	spec = rem.Spec
	if rem.Status.Phase.Facts().Undoing() {
		return spec, 0
	}
	spec.Plan.Rollout, spec.Plan.Waves, _ = floors.Pace(spec.Plan.Rollout, spec.Plan.Waves, writable(&spec.Plan))
	return spec, floors.Wave(writable(&spec.Plan))
}
