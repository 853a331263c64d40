package canary

import (
	"math"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	// minBreakerWindow gives each of the window's buckets a second.
	minBreakerWindow = maxBuckets * time.Second
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
