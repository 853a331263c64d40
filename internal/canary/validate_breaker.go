// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"math"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// minBreakerWindow gives each of the window's buckets a second.
	minBreakerWindow = v1alpha1.MaxBreakerBuckets * time.Second
	maxBreakerWindow = 24 * time.Hour
)

// checkBreaker finds what is wrong with the breaker's limits.
func checkBreaker(p *problems, b *v1alpha1.BreakerStrategy) {
	p.within("breaker.consecutiveFailures", b.ConsecutiveFailures, 1, 1000)
	p.within("breaker.failurePercent", b.FailurePercent, 1, 100)
	p.within("breaker.minSamples", b.MinSamples, 1, 10000)
	p.within("breaker.storm.newViolations", b.Storm.NewViolations, 1, math.MaxInt32)
	p.objective(b.SLO)
	p.lasts("breaker.window", b.Window, minBreakerWindow, maxBreakerWindow)
	p.lasts("breaker.cooldown", b.Cooldown, time.Second, v1alpha1.MaxBreakerCooldown)
}

// objective says what is wrong with a service level objective.
func (p *problems) objective(slo *v1alpha1.SLOStrategy) {
	if slo == nil {
		return
	}
	if strings.TrimSpace(slo.Query) == "" {
		p.add("breaker.slo.query", "must be a PromQL query that answers the error ratio over the last hour")
	} else {
		p.addErr("breaker.slo.query", CheckQuery(slo.Query))
	}
	set := v1alpha1.BreakerStrategy{SLO: slo.DeepCopy()}
	set.SetDefaults()
	if _, err := set.SLO.ErrorBudget(); err != nil {
		p.add("breaker.slo", "%v", err)
	}
}
