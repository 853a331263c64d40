// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"math"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Stage is a run of a plan's waves that begins with a canary of its own. A plan
// without stages is one stage without a name.
type Stage struct {
	Name string
	// First is its canary; End is the first wave after it.
	First, End int32
}

// StageOf is the stage that a wave belongs to.
func StageOf(plan v1alpha1.RemediationPlan, wave int32) Stage {
	found := Stage{End: math.MaxInt32}
	for _, s := range plan.Stages {
		if s.FirstWave > wave {
			found.End = min(found.End, s.FirstWave)
		} else if s.FirstWave >= found.First {
			found.Name, found.First = s.Name, s.FirstWave
		}
	}
	return found
}

// Holds says whether a wave belongs to the stage.
func (s Stage) Holds(wave int32) bool { return s.First <= wave && wave < s.End }

// WaveLabel tells a wave in a column of a table: "canary", "2/3 (8)", and with
// stages "canary of prod", "5/7 (40) of prod".
func WaveLabel(plan v1alpha1.RemediationPlan, wave int32) string {
	s := StageOf(plan, wave)
	text := fmt.Sprintf("%d", wave)
	switch {
	case wave == s.First:
		text = "canary"
	case int(wave) < len(plan.Waves):
		text = fmt.Sprintf("%d/%d (%d)", wave, len(plan.Waves)-1, plan.Waves[wave].Targets)
	}
	if s.Name != "" {
		text += " of " + s.Name
	}
	return text
}
