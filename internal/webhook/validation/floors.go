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

// beyondFloors warns whoever writes a policy of what it asks for and won't get, as far
// as that can be told without knowing how many targets its plans will have.
func beyondFloors(asked *v1alpha1.RolloutStrategy, floors *limits.Floors) []string {
	asked = asked.DeepCopy()
	asked.SetDefaults()
	if asked.Mode == v1alpha1.RemediationDisabled {
		return nil
	}
	_, changed := floors.Strategy(*asked, 0)
	return append(limited("spec.remediation.", changed), wideWaves("spec.remediation.", asked, floors)...)
}

func beyondPace(s *v1alpha1.RemediationStrategySpec, floors *limits.Floors) []string {
	asked := &v1alpha1.RolloutStrategy{RemediationStrategySpec: *s.DeepCopy()}
	asked.SetDefaults()
	_, changed := floors.Pace(*asked, 0)
	return append(limited("spec.", changed), wideWaves("spec.", asked, floors)...)
}

func limited(at string, changed []v1alpha1.AppliedLimit) []string {
	var out []string
	for _, limit := range changed {
		out = append(out, fit("%s", at+limit.String())) // its parts are short: an API's fields and a flag's values
	}
	return out
}

func wideWaves(at string, asked *v1alpha1.RolloutStrategy, floors *limits.Floors) []string {
	// Of 100 targets, as many are in a wave as its share in percent.
	sizes, err := canary.Sizes(100, asked)
	most := floors.MaxWave
	if err != nil || most == nil || most.Type != intstr.String || int(slices.Max(sizes)) <= floors.Wave(100) {
		return nil
	}
	return []string{
		fmt.Sprintf(
			"%swaves: a wave of %d%% of the targets is asked for, the administrator allows %s (%s): it is split",
			at, slices.Max(sizes), most, limits.FlagMaxWave)}
}
