// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/policy"
)

func newEvaluations() *prometheus.CounterVec {
	return prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "evenkeel_engine_evaluations_total",
		Help: "Evaluations of policies, of admission, the scan and fixes, by policy, by engine (compiled, topdown) " +
			"and by the reason for which topdown evaluated the rules although the compiled engine is in use " +
			"(NotCompilable, EngineStopped, EvaluationFailed; empty otherwise).",
	}, []string{"policy", "engine", "reason"})
}

// RegisterMetrics registers the figures of the catalog's evaluations. Every replica has them.
func (c *Catalog) RegisterMetrics(r prometheus.Registerer) error {
	if err := r.Register(c.evaluations); err != nil {
		return fmt.Errorf("register the metrics of evaluations: %w", err)
	}
	return nil
}

func (s *Snapshot) count(d *policy.Decision) {
	s.evaluations.WithLabelValues(d.Policy, string(d.Engine), d.WhyTopdown).Inc()
}
