// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// percentage is 1% to 100%, written without sign, space or leading zero.
var percentage = regexp.MustCompile(`^(100|[1-9][0-9]?)%$`)

// share is a part of all targets: a count, or a percentage when percent is set.
type share struct {
	value   int64
	percent bool
}

// parseShare reads a count or a percentage. The error gives the reason only;
// the caller names the field.
func parseShare(v intstr.IntOrString) (share, error) {
	if v.Type == intstr.Int {
		if v.IntVal < 1 {
			return share{}, fmt.Errorf("%d: a count must be at least 1", v.IntVal)
		}
		return share{value: int64(v.IntVal)}, nil
	}
	if !percentage.MatchString(v.StrVal) {
		return share{}, fmt.Errorf(`%q: must be a count of at least 1, or a percentage from "1%%" to "100%%"`, v.StrVal)
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(v.StrVal, "%"), 10, 64)
	if err != nil {
		return share{}, fmt.Errorf("%q: %w", v.StrVal, err)
	}
	return share{value: n, percent: true}, nil
}

// String is the share as people write it.
func (s share) String() string {
	if s.percent {
		return fmt.Sprintf("%d%%", s.value)
	}
	return strconv.FormatInt(s.value, 10)
}

// of is the share's number of targets: percentages round down, at least 1, at
// most all.
func (s share) of(total int64) int64 {
	n := s.value
	if s.percent {
		n = total * s.value / 100
	}
	return min(max(n, 1), total)
}

func (s share) all() bool { return s.percent && s.value == 100 }

// Waves gives the waves of a rollout over total targets, in order. The first is the
// canary. Each step is the share of all targets that is fixed when it is done; one
// that adds no target to those before it is dropped, so every wave has at least 1 and
// they add up to total.
//
// It fails when a share can't be read or when the last step isn't 100%, as
// RemediationStrategySpec.SetDefaults makes it, which would leave targets in no wave.
func Waves(total int, steps []v1alpha1.RolloutStep) ([]v1alpha1.PlannedWave, error) {
	if total < 0 || total > math.MaxInt32 {
		return nil, fmt.Errorf("a rollout of %d targets: must be from 0 to %d", total, math.MaxInt32)
	}
	waves := []v1alpha1.PlannedWave{}
	covered, all := int64(0), false
	for i, step := range steps {
		targets, err := parseShare(step.Targets)
		if err != nil {
			return nil, fmt.Errorf("steps[%d].targets: %w", i, err)
		}
		all = targets.all()
		upTo := targets.of(int64(total))
		if upTo <= covered {
			if step.Approval != "" && len(waves) > 0 { // the targets before it must still be approved
				waves[len(waves)-1].Approval = step.Approval
			}
			continue
		}
		wave := v1alpha1.PlannedWave{Targets: int32(upTo - covered), Approval: step.Approval} //nolint:gosec // total was checked against MaxInt32.
		wave.Soak.Duration = v1alpha1.DefaultSoak
		if step.Soak != nil {
			wave.Soak = *step.Soak
		}
		waves, covered = append(waves, wave), upTo
	}
	if !all {
		return nil, errors.New("steps: the last must be 100%: otherwise some targets are in no wave")
	}
	return waves, nil
}

// Assign gives the wave of each of total targets in their order: the first are the
// canary (wave 0), the next wave 1, and so on. Targets beyond those of the waves, which
// Waves never leaves, join the last wave, so that each target is in exactly one.
func Assign(total int, waves []v1alpha1.PlannedWave) []int32 {
	assigned := make([]int32, 0, max(total, 0))
	for wave, of := range waves {
		for range of.Targets {
			if len(assigned) == total {
				return assigned
			}
			assigned = append(assigned, int32(wave)) //nolint:gosec // a plan has at most MaxWaves.
		}
	}
	last := int32(max(len(waves)-1, 0)) //nolint:gosec // as above.
	return append(assigned, slices.Repeat([]int32{last}, max(total-len(assigned), 0))...)
}

// Targets lists the numbers of targets of waves, for people.
func Targets(waves []v1alpha1.PlannedWave) []int32 {
	targets := make([]int32, len(waves))
	for i, wave := range waves {
		targets[i] = wave.Targets
	}
	return targets
}
