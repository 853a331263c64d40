package remediate

import (
	"fmt"
	"math"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// stage is a run of a plan's waves that begins with a canary of its own. A plan
// without stages is one stage without a name.
type stage struct {
	name string
	// first is its canary; end is the first wave after it.
	first, end int32
}

// stageOf is the stage that a wave belongs to.
func stageOf(spec v1alpha1.RemediationSpec, wave int32) stage {
	found := stage{end: math.MaxInt32}
	for _, s := range spec.Stages {
		if s.FirstWave > wave {
			found.end = min(found.end, s.FirstWave)
		} else if s.FirstWave >= found.first {
			found.name, found.first = s.Name, s.FirstWave
		}
	}
	return found
}

// canaryWave says whether a wave is the canary of its stage: it must be healthy
// before, soaks as the canary does, and nothing after it begins unless it proves
// something.
func canaryWave(spec v1alpha1.RemediationSpec, wave int32) bool {
	return stageOf(spec, wave).first == wave
}

// holds says whether a wave belongs to the stage.
func (s stage) holds(wave int32) bool { return s.first <= wave && wave < s.end }

// waveAfterCanary is where a target goes that can't be the canary: the next wave
// of its stage, if there is one.
func waveAfterCanary(spec v1alpha1.RemediationSpec, wave int32) (int32, bool) {
	return wave + 1, stageOf(spec, wave).holds(wave + 1)
}

// label tells a wave to people.
func (o Observation) label(wave int32) string {
	s := stageOf(o.Spec, wave)
	switch {
	case wave == 0:
		return "canary"
	case wave == s.first:
		return "canary of " + s.name
	case s.name != "":
		return fmt.Sprintf("wave %d of %d (%s)", wave, len(o.Spec.Waves)-1, s.name)
	default:
		return fmt.Sprintf("wave %d of %d", wave, len(o.Spec.Waves)-1)
	}
}

// waveLabel tells the wave at work in a column of a table: "canary", "2/3 (8)",
// and with stages "canary of prod", "5/7 (40) of prod".
func waveLabel(spec v1alpha1.RemediationSpec, wave int32) string {
	s := stageOf(spec, wave)
	text := fmt.Sprintf("%d", wave)
	switch {
	case wave == s.first:
		text = "canary"
	case int(wave) < len(spec.Waves):
		text = fmt.Sprintf("%d/%d (%d)", wave, len(spec.Waves)-1, spec.Waves[wave])
	}
	if s.name != "" {
		text += " of " + s.name
	}
	return truncate(text, 64)
}
