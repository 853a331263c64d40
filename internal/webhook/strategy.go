package webhook

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Bounds of a strategy beyond those that the schema states.
const (
	maxSoak             = 7 * 24 * time.Hour
	maxProgressDeadline = 24 * time.Hour
	// minBreakerWindow gives each of the window's 6 buckets a second.
	minBreakerWindow = 6 * time.Second
	maxBreakerWindow = 24 * time.Hour
)

// checkStrategy finds what is wrong with a remediation strategy.
func checkStrategy(s *v1alpha1.RemediationStrategy) []problem {
	const at = "spec.remediation"
	var out problems
	if s.Canary.Size != nil {
		out.addIf(checkShare(*s.Canary.Size), at+".canary.size")
	}
	if s.Canary.Soak != nil {
		out.addIf(checkRange(s.Canary.Soak.Duration, 0, maxSoak), at+".canary.soak")
	}
	out = append(out, checkWaves(s.Waves)...)
	if s.MaxConcurrent < 1 {
		out.addIf(fmt.Sprintf("%d: must be at least 1", s.MaxConcurrent), at+".maxConcurrent")
	}
	out.addIf(checkRange(s.Soak.Duration, 0, maxSoak), at+".soak")
	out.addIf(checkRange(s.ProgressDeadline.Duration, time.Second, maxProgressDeadline), at+".progressDeadline")
	return append(out, checkBreaker(&s.Breaker)...)
}

func checkBreaker(b *v1alpha1.BreakerStrategy) []problem {
	const at = "spec.remediation.breaker"
	var out problems
	if b.ConsecutiveFailures < 1 {
		out.addIf(fmt.Sprintf("%d: must be at least 1", b.ConsecutiveFailures), at+".consecutiveFailures")
	}
	if b.FailureRatio < 1 || b.FailureRatio > 100 {
		out.addIf(fmt.Sprintf("%d: must be a percentage from 1 to 100", b.FailureRatio), at+".failureRatio")
	}
	if b.MinSamples < 1 {
		out.addIf(fmt.Sprintf("%d: must be at least 1", b.MinSamples), at+".minSamples")
	}
	out.addIf(checkRange(b.Window.Duration, minBreakerWindow, maxBreakerWindow), at+".window")
	out.addIf(checkRange(b.Cooldown.Duration, time.Second, v1alpha1.MaxBreakerCooldown), at+".cooldown")
	return out
}

func checkWaves(waves []intstr.IntOrString) []problem {
	const at = "spec.remediation.waves"
	var out problems
	if len(waves) == 0 {
		return nil
	}
	previous := map[intstr.Type]int{}
	for i, wave := range waves {
		field := fmt.Sprintf("%s[%d]", at, i)
		if message := checkShare(wave); message != "" {
			out.addIf(message, field)
			continue
		}
		value := shareValue(wave)
		if before, ok := previous[wave.Type]; ok && value < before {
			out.addIf(fmt.Sprintf("%s: waves are cumulative and must never fall; an earlier one is already %s", wave.String(), shareText(wave.Type, before)), field)
		}
		previous[wave.Type] = value
	}
	if last := waves[len(waves)-1]; last.String() != "100%" {
		out.addIf(fmt.Sprintf("%s: the last wave must be \"100%%\", or some targets are in no wave", last.String()), fmt.Sprintf("%s[%d]", at, len(waves)-1))
	}
	return out
}

// checkShare says what is wrong with a count or percentage, or nothing.
func checkShare(share intstr.IntOrString) string {
	if share.Type == intstr.Int {
		if share.IntVal < 1 {
			return fmt.Sprintf("%d: a count must be at least 1", share.IntVal)
		}
		return ""
	}
	percent, isPercent := strings.CutSuffix(share.StrVal, "%")
	value, err := strconv.Atoi(percent)
	if !isPercent || err != nil || value < 1 || value > 100 || strconv.Itoa(value) != percent {
		return fmt.Sprintf("%q: must be a count of at least 1, or a percentage from \"1%%\" to \"100%%\"", share.StrVal)
	}
	return ""
}

// shareValue is the number in a share that checkShare passes.
func shareValue(share intstr.IntOrString) int {
	if share.Type == intstr.Int {
		return int(share.IntVal)
	}
	value, _ := strconv.Atoi(strings.TrimSuffix(share.StrVal, "%"))
	return value
}

func shareText(kind intstr.Type, value int) string {
	if kind == intstr.String {
		return strconv.Itoa(value) + "%"
	}
	return strconv.Itoa(value)
}

func checkRange(d, low, high time.Duration) string {
	if d < low || d > high {
		return fmt.Sprintf("%s: must be from %s to %s", d, low, high)
	}
	return ""
}
