// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
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
	spec.Plan.Strategy, _ = floors.Pace(spec.Plan.Strategy, writable(&spec.Plan))
	return spec, floors.Wave(writable(&spec.Plan))
}

// limitsTold is the condition that says what the administrator has changed of what the
// policy asks for, and of what the plan has frozen; none when that is nothing.
func limitsTold(floors *limits.Floors, rem *v1alpha1.Remediation) []metav1.Condition {
	_, since := floors.Pace(rem.Spec.Plan.Strategy, writable(&rem.Spec.Plan))
	var told []string
	for _, limit := range slices.Concat(rem.Spec.Plan.Limits, since) {
		told = append(told, limit.String())
	}
	if len(told) == 0 {
		return nil
	}
	return []metav1.Condition{
		kube.ConditionTrue(v1alpha1.ConditionLimited, v1alpha1.ReasonAdministratorLimit, strings.Join(told, "; "))}
}
