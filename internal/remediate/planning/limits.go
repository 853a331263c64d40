// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
)

// limit resolves the rollout of a draft by the number of targets that it may write, within
// what the administrator allows, and keeps what that has changed of what the policy and its
// strategy ask for. A breaker may have changed the draft's mode.
func (d *draft) limit(floors *limits.Floors) {
	mode := d.rollout.Mode
	asked := canary.Rollout(d.policy.Spec.Remediation, &d.strategy, d.size())
	_, _, d.limited = floors.Rollout(asked, canary.Soaks(d.strategy.Steps), d.size())
	asked.Mode = mode
	d.rollout, _, _ = floors.Rollout(asked, nil, d.size())
	d.mostInWave, d.minSoak = floors.Wave(d.size()), floors.MinSoak
}

// limitWaves notes that waves of the draft, which is in order by now, are split.
func (d *draft) limitWaves() {
	if largest := d.largestWave(); d.mostInWave > 0 && largest > d.mostInWave {
		d.limited = append(d.limited,
			v1alpha1.AppliedLimit{Field: "steps", Asked: fmt.Sprintf("%d in one wave", largest),
				Allowed: fmt.Sprintf("%d", d.mostInWave), Flag: limits.FlagMaxWave})
	}
}

// largestWave is the largest wave that the strategy asks for, over all stages.
func (d *draft) largestWave() int {
	whole := *d
	whole.mostInWave = 0
	layout, err := whole.layout()
	if err != nil || len(layout.Waves) == 0 {
		return 0
	}
	return int(slices.Max(canary.Targets(layout.Waves)))
}

// LimitedMode says why a plan may begin no further target, when the administrator
// doesn't allow its mode by now.
func LimitedMode(policy string, asked, allowed v1alpha1.RemediationMode) string {
	next := "a plan in that mode follows"
	if allowed == v1alpha1.RemediationDisabled {
		next = "nothing is planned"
	}
	return fmt.Sprintf("policy %s asks for mode %s, the administrator allows %s at most (%s): %s", policy, asked,
		allowed, limits.FlagMaxMode, next)
}
