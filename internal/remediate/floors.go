// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
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

// limit brings a draft within what the administrator allows, and keeps what that has
// changed of what the policy asks for.
func (d *draft) limit(floors *limits.Floors) {
	asked := d.policy.Spec.Remediation.RolloutStrategy.DeepCopy()
	asked.SetDefaults()
	d.mostInWave = floors.Wave(d.size())
	_, d.limited = floors.Strategy(*asked, d.size())
	d.strategy, _ = floors.Strategy(d.strategy, d.size())
}

// limitWaves notes that waves of the draft, which is in order by now, are split.
func (d *draft) limitWaves() {
	if largest := d.largestWave(); d.mostInWave > 0 && largest > d.mostInWave {
		d.limited = append(d.limited,
			v1alpha1.AppliedLimit{Field: "waves", Asked: fmt.Sprintf("%d in one wave", largest),
				Allowed: fmt.Sprintf("%d", d.mostInWave), Flag: limits.FlagMaxWave})
	}
}

// largestWave is the largest wave that the policy asks for, over all stages.
func (d *draft) largestWave() int {
	whole := *d
	whole.mostInWave = 0
	layout, err := whole.layout()
	if err != nil || len(layout.Waves) == 0 {
		return 0
	}
	return int(slices.Max(layout.Waves))
}

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
	if rem.Status.Phase == v1alpha1.PhaseRollingBack {
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

// limitedMode says why a plan may begin no further target, when the administrator
// doesn't allow its mode by now.
func limitedMode(policy string, asked, allowed v1alpha1.RemediationMode) string {
	next := "a plan in that mode follows"
	if allowed == v1alpha1.RemediationDisabled {
		next = "nothing is planned"
	}
	return fmt.Sprintf("policy %s asks for mode %s, the administrator allows %s at most (%s): %s", policy, asked,
		allowed, limits.FlagMaxMode, next)
}
