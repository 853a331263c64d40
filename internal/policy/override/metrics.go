// SPDX-License-Identifier: Apache-2.0

package override

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
)

// Overridden calls a function for each policy that is overridden at a time.
type Overridden func(now time.Time, each func(policyName string, o *Override))

// gauges tell which policies are overridden when they are asked for, so they can't drift
// from what verdicts go by.
type gauges struct {
	overridden Overridden
	clock      clock.PassiveClock
	active     *prometheus.Desc
}

// RegisterMetrics registers the figures of overrides. Every replica has them.
func RegisterMetrics(r prometheus.Registerer, overridden Overridden, c clock.PassiveClock) error {
	g := &gauges{overridden: overridden, clock: c, active: prometheus.NewDesc("evenkeel_policy_overridden",
		"1 while a person has overridden the policy's enforcement, with what admission does in place of what it "+
			"declares. Labels: policy, declared, action.", []string{"policy", "declared", "action"}, nil)}
	if err := r.Register(g); err != nil {
		return fmt.Errorf("register the metrics of overrides: %w", err)
	}
	return nil
}

func (g *gauges) Describe(out chan<- *prometheus.Desc) { out <- g.active }

func (g *gauges) Collect(out chan<- prometheus.Metric) {
	g.overridden(g.clock.Now(), func(policyName string, o *Override) {
		out <- prometheus.MustNewConstMetric(g.active, prometheus.GaugeValue, 1, policyName, string(o.Declared),
			string(o.Action))
	})
}
