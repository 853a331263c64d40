// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
)

// beyondFloors warns the author of a policy of settings that the administrator's limits reduce, as far as
// that is known without the number of targets.
func beyondFloors(asked *v1alpha1.PolicyRemediation, s *v1alpha1.RemediationStrategySpec,
	floors *limits.Floors) []string {
	if asked.Mode == v1alpha1.RemediationDisabled {
		return nil
	}
	_, _, changed := floors.Rollout(canary.Rollout(*asked, s, 0), canary.Soaks(s.Steps), 0)
	return append(limited("spec.remediation.strategyRef: ", changed),
		wideWaves("spec.remediation.strategyRef: ", s, floors)...)
}

func beyondPace(s *v1alpha1.RemediationStrategySpec, floors *limits.Floors) []string {
	s = s.DeepCopy()
	s.SetDefaults()
	_, _, changed := floors.Pace(canary.Rollout(v1alpha1.PolicyRemediation{}, s, 0), canary.Soaks(s.Steps), 0)
	return append(limited("spec.", changed), wideWaves("spec.", s, floors)...)
}

func limited(at string, changed []v1alpha1.AppliedLimit) []string {
	var out []string
	for _, limit := range changed {
		at := at
		if limit.Field == "mode" {
			at = "spec.remediation."
		}
		out = append(out, fit("%s", at+limit.String())) // its parts are short: an API's fields and a flag's values
	}
	return out
}

func wideWaves(at string, s *v1alpha1.RemediationStrategySpec, floors *limits.Floors) []string {
	// Of 100 targets, as many are in a wave as its share in percent.
	waves, err := canary.Waves(100, s.Steps)
	most := floors.MaxWave
	if err != nil || most == nil || most.Type != intstr.String {
		return nil
	}
	widest := slices.Max(canary.Targets(waves))
	if int(widest) <= floors.Wave(100) {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"%ssteps: a wave of %d%% of the targets is asked for, the administrator allows %s (%s): it is split",
			at, widest, most, limits.FlagMaxWave)}
}
