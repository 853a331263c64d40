package canary

import (
	"fmt"
	"math"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// strategyField is where a strategy stands in a Policy.
const strategyField = "spec.remediation"

// Validate lists what is wrong with a strategy, each as "field: reason", in the
// order of the fields; nothing when a rollout can be made from it. A field left
// at its zero value stands for its default and is right.
func Validate(s *v1alpha1.RemediationStrategy) []string {
	if s == nil {
		return nil
	}
	var p problems
	if s.Canary.Size != nil {
		if _, err := parseShare(*s.Canary.Size); err != nil {
			p.add("canary.size", "%v", err)
		}
	}
	if s.Canary.Soak != nil {
		p.notNegative("canary.soak", *s.Canary.Soak)
	}
	p.waves(s.Waves)
	p.within("maxConcurrent", s.MaxConcurrent, 1, 100)
	p.notNegative("soak", s.Soak)
	p.notNegative("progressDeadline", s.ProgressDeadline)
	if s.RetryLimit != nil {
		p.within("retryLimit", *s.RetryLimit, 0, 20)
	}
	p.breaker(&s.Breaker)
	return p
}

type problems []string

func (p *problems) add(field, format string, args ...any) {
	*p = append(*p, fmt.Sprintf("%s.%s: %s", strategyField, field, fmt.Sprintf(format, args...)))
}

func (p *problems) waves(waves []intstr.IntOrString) {
	var before *share
	for i, wave := range waves {
		field := fmt.Sprintf("waves[%d]", i)
		step, err := parseShare(wave)
		if err != nil {
			p.add(field, "%v", err)
			before = nil
			continue
		}
		// A count and a percentage compare only once the number of targets is
		// known; Sizes drops such a wave when it adds nothing.
		if before != nil && before.percent == step.percent && step.value < before.value {
			p.add(field, "%s is less than the wave before it (%s): waves are shares of all targets and must never fall",
				wave.String(), waves[i-1].String())
		}
		before = &step
	}
	if last := len(waves) - 1; last >= 0 && (before == nil || !before.all()) {
		p.add("waves", `must end with "100%%", not %q: otherwise some targets are in no wave`, waves[last].String())
	}
}

func (p *problems) breaker(b *v1alpha1.BreakerStrategy) {
	p.within("breaker.consecutiveFailures", b.ConsecutiveFailures, 1, 1000)
	p.within("breaker.failureRatio", b.FailureRatio, 1, 100)
	p.within("breaker.minSamples", b.MinSamples, 1, 10000)
	p.within("breaker.storm.newViolations", b.Storm.NewViolations, 1, math.MaxInt32)
	p.objective(b.SLO)
	p.notNegative("breaker.window", b.Window)
	p.notNegative("breaker.cooldown", b.Cooldown)
	if b.Cooldown.Duration > v1alpha1.MaxBreakerCooldown {
		p.add("breaker.cooldown", "%s is longer than the longest cooldown, %s", b.Cooldown.Duration, v1alpha1.MaxBreakerCooldown)
	}
}

// within takes 0 as unset.
func (p *problems) within(field string, value, low, high int32) {
	if value != 0 && (value < low || value > high) {
		p.add(field, "%d must be from %d to %d", value, low, high)
	}
}

func (p *problems) notNegative(field string, d metav1.Duration) {
	if d.Duration < 0 {
		p.add(field, "%s must not be negative: give a duration such as %q", d.Duration, time.Minute)
	}
}
