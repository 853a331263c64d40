// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// CanaryWave says whether a wave is the canary of its stage: it must be healthy
// before, soaks as the canary does, and nothing after it begins unless it proves
// something.
func CanaryWave(plan v1alpha1.RemediationPlan, wave int32) bool {
	return canary.StageOf(plan, wave).First == wave
}

// WaveAfterCanary is where a target goes that can't be the canary: the next wave
// of its stage, if there is one.
func WaveAfterCanary(plan v1alpha1.RemediationPlan, wave int32) (int32, bool) {
	return wave + 1, canary.StageOf(plan, wave).Holds(wave + 1)
}

// Label tells a wave to people.
func (o Observation) Label(wave int32) string {
	s := canary.StageOf(o.Spec.Plan, wave)
	switch {
	case wave == 0:
		return "canary"
	case wave == s.First:
		return "canary of " + s.Name
	case s.Name != "":
		return fmt.Sprintf("wave %d of %d (%s)", wave, len(o.Spec.Plan.Waves)-1, s.Name)
	default:
		return fmt.Sprintf("wave %d of %d", wave, len(o.Spec.Plan.Waves)-1)
	}
}

// maxCandidates is how many candidates may come to nothing in a canary, whatever
// the reasons, until the plan is given up: it is too old to be right about the
// fleet, and the next one looks at it anew.
const maxCandidates = 50

// tried is how many candidates of a stage's canary have come to nothing: those
// that it holds, and those that it passed on because they weren't healthy.
func (o Observation) tried(m Members, here canary.Stage) int {
	n := m.total
	for _, t := range o.Targets {
		if t.Wave > o.Status.Wave && here.Holds(t.Wave) && t.Reason == v1alpha1.ReasonUnhealthyBefore {
			n++
		}
	}
	return n
}

// candidates are the targets that may still be drawn into a stage's canary.
func (o Observation) candidates(here canary.Stage) []int {
	var fit []int
	for i, t := range o.Targets {
		proves := t.Reason != v1alpha1.ReasonUnhealthyBefore && !(o.Status.Wave == 0 && t.ExcludedFromCanary)
		if t.Wave > o.Status.Wave && here.Holds(t.Wave) && t.State == v1alpha1.TargetPending && proves {
			fit = append(fit, i)
		}
	}
	return fit
}
