// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/canary"
)

// sloOptions are the flags of the manager that set the global breaker's service
// level objective, and how often any objective is asked for.
type sloOptions struct {
	query     string
	objective string
	period    time.Duration
	interval  time.Duration
}

func (o *sloOptions) AddFlags(f *pflag.FlagSet) {
	f.StringVar(&o.query, "slo-query", "", "a PromQL query that answers the error ratio over the last hour, from 0 to "+
		"1; when it says that an hour has spent more than half of the error budget, no new write begins anywhere, and "+
		"none while it has no answer")
	f.StringVar(&o.objective, "slo-objective", "99.9",
		"the share of requests that must succeed, in percent; for --slo-query")
	f.DurationVar(&o.period, "slo-period", v1alpha1.DefaultSLOPeriod,
		"the time that the error budget is meant for; for --slo-query")
	f.DurationVar(&o.interval, "slo-interval", circuit.DefaultSLOInterval, "how long what Prometheus has said of an "+
		"error budget holds, of --slo-query and of strategies (breaker.slo), 1s or longer; shorter "+
		"asks it more often")
}

// Validate says what is wrong with the flags, all at once. prometheus is
// --prometheus-url, which the query is asked of.
func (o *sloOptions) Validate(prometheus string) error {
	var errs []error
	if o.interval < minInterval {
		errs = append(errs, fmt.Errorf("--slo-interval %s: must be %s or longer", o.interval, minInterval))
	}
	slo := o.strategy()
	if slo == nil {
		return errors.Join(errs...)
	}
	if prometheus == "" {
		errs = append(errs, errors.New(
			"--slo-query needs --prometheus-url: nobody could be asked, and nothing would ever be written"))
	}
	if err := canary.CheckQuery(slo.Query); err != nil {
		errs = append(errs, fmt.Errorf("--slo-query %w", err))
	}
	if _, err := circuit.Spent(0, *slo); err != nil {
		errs = append(errs, fmt.Errorf("--slo-objective, --slo-period: %w", err))
	}
	return errors.Join(errs...)
}

// strategy is the objective that the flags set; nil when they set none.
func (o *sloOptions) strategy() *v1alpha1.SLOStrategy {
	if o.query == "" {
		return nil
	}
	return &v1alpha1.SLOStrategy{Query: o.query, Objective: o.objective, Period: metav1.Duration{Duration: o.period}}
}
