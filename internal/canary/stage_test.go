// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
)

func TestWaveLabel(t *testing.T) {
	plain := v1alpha1.RemediationPlan{Waves: fixture.PlannedWaves(1, 2, 8, 29)}
	staged := v1alpha1.RemediationPlan{
		Waves:  fixture.PlannedWaves(1, 9, 1, 40),
		Stages: []v1alpha1.PlannedStage{{Name: "dev"}, {Name: "prod", FirstWave: 2}}}
	for name, c := range map[string]struct {
		plan v1alpha1.RemediationPlan
		wave int32
		want string
	}{
		"the first wave is the canary":                      {plain, 0, "canary"},
		"a later one says how many there are, and its size": {plain, 2, "2/3 (8)"},
		"one that the plan hasn't is a number":              {plain, 4, "4"},
		"the first stage's canary":                          {staged, 0, "canary of dev"},
		"each stage begins with a canary":                   {staged, 2, "canary of prod"},
		"a wave of a stage":                                 {staged, 3, "3/3 (40) of prod"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := canary.WaveLabel(c.plan, c.wave); got != c.want {
				t.Errorf("wave %d is %q, not %q", c.wave, got, c.want)
			}
		})
	}
}
