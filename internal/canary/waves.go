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

// defaultWaves are the waves of a strategy that names none, as
// RolloutStrategy.SetDefaults fills them in.
func defaultWaves() []intstr.IntOrString {
	return []intstr.IntOrString{intstr.FromString("5%"), intstr.FromString("25%"), intstr.FromString("100%")}
}

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

// Sizes gives the number of targets in each wave of a rollout over total
// targets, in order. The first is the canary. Each of the strategy's waves is
// the share of all targets that is fixed when that wave is done; one that adds
// no target to those before it is dropped, so every size is at least 1 and the
// sizes add up to total. Unset fields take the strategy's defaults.
//
// It fails when a share can't be read or when the waves don't end with "100%",
// which would leave targets in no wave.
func Sizes(total int, s *v1alpha1.RolloutStrategy) ([]int32, error) {
	if s == nil {
		return nil, errors.New("remediation strategy is missing")
	}
	if total < 0 || total > math.MaxInt32 {
		return nil, fmt.Errorf("a rollout of %d targets: must be from 0 to %d", total, math.MaxInt32)
	}
	steps, err := cumulative(s)
	if err != nil {
		return nil, err
	}
	sizes := []int32{}
	covered := int64(0)
	for _, step := range steps {
		upTo := step.of(int64(total))
		if upTo <= covered {
			continue
		}
		sizes = append(sizes, int32(upTo-covered)) //nolint:gosec // total was checked against MaxInt32.
		covered = upTo
	}
	return sizes, nil
}

// cumulative lists the shares fixed after the canary and after each wave.
func cumulative(s *v1alpha1.RolloutStrategy) ([]share, error) {
	canary := intstr.FromInt32(1)
	if s.Canary.Size != nil {
		canary = *s.Canary.Size
	}
	first, err := parseShare(canary)
	if err != nil {
		return nil, fmt.Errorf("canary.size: %w", err)
	}
	waves := s.Waves
	if len(waves) == 0 {
		waves = defaultWaves()
	}
	steps := []share{first}
	for i, wave := range waves {
		step, err := parseShare(wave)
		if err != nil {
			return nil, fmt.Errorf("waves[%d]: %w", i, err)
		}
		steps = append(steps, step)
	}
	if !steps[len(steps)-1].all() {
		return nil, fmt.Errorf(
			`waves[%d]: %s is the last wave and must be "100%%": otherwise some targets are in no wave`,
			len(waves)-1, waves[len(waves)-1].String())
	}
	return steps, nil
}

// Assign gives the wave of each of total targets in their order: the first
// sizes[0] are the canary (wave 0), the next sizes[1] wave 1, and so on. Targets
// beyond the sum of sizes, which Sizes never leaves, join the last wave, so that
// each target is in exactly one.
func Assign(total int, sizes []int32) []int32 {
	waves := make([]int32, 0, max(total, 0))
	for wave, size := range sizes {
		for range size {
			if len(waves) == total {
				return waves
			}
			waves = append(waves, int32(wave)) //nolint:gosec // a strategy has at most 20 waves.
		}
	}
	last := int32(max(len(sizes)-1, 0)) //nolint:gosec // as above.
	return append(waves, slices.Repeat([]int32{last}, max(total-len(waves), 0))...)
}
