// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/remediate/planning"
)

// intervals are how often remediation looks at what no event tells it of.
type intervals struct {
	rollout   time.Duration
	plan      time.Duration
	planDelay time.Duration
	storm     time.Duration
}

const (
	// minRolloutPoll and minInterval keep controllers from doing nothing but looking.
	minRolloutPoll = 100 * time.Millisecond
	minInterval    = time.Second
	// maxStormInterval keeps counts from being older than the windows that they are compared within.
	maxStormInterval = time.Minute
)

func (o *intervals) AddFlags(f *pflag.FlagSet) {
	f.DurationVar(&o.rollout, "rollout-poll-interval", 0, "the longest that a plan waits until it looks again at "+
		"targets that aren't verified, at budgets and at windows, 100ms or longer; shorter asks more of the API "+
		"server (default: 1s to 5s, by what it waits for)")
	f.DurationVar(&o.plan, "plan-interval", planning.DefaultInterval, "how often violations that can't be planned now "+
		"are looked at again, for want of a healthy canary too, 1s or longer; changes are looked at when they come")
	f.DurationVar(&o.planDelay, "plan-delay", planning.DefaultDelay, "how long after a plan's end the next of its "+
		"policy may be made, 100ms or longer; the scan should have seen the last writes by then, or that plan "+
		"skips what is clean already")
	f.DurationVar(&o.storm, "storm-interval", breaker.DefaultStormInterval, "how often a policy's violations are "+
		"counted for its circuit breaker (breaker.storm of its strategy), besides before each plan; from 1s to 1m")
}

func (o *intervals) Validate() error {
	var errs []error
	atLeast := func(flag string, got, least time.Duration) {
		if got < least {
			errs = append(errs, fmt.Errorf("--%s %s: must be %s or longer", flag, got, least))
		}
	}
	if o.rollout != 0 {
		atLeast("rollout-poll-interval", o.rollout, minRolloutPoll)
	}
	atLeast("plan-interval", o.plan, minInterval)
	atLeast("plan-delay", o.planDelay, minRolloutPoll)
	if o.storm < minInterval || o.storm > maxStormInterval {
		errs = append(errs, fmt.Errorf("--storm-interval %s: must be from %s to %s", o.storm, minInterval,
			maxStormInterval))
	}
	return errors.Join(errs...)
}
