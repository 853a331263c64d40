// SPDX-License-Identifier: Apache-2.0

package engines

import (
	"errors"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the figures of the engines. Labels never hold names of objects.
type metrics struct {
	evaluations *prometheus.CounterVec
	comparisons *prometheus.CounterVec
	differ      *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		evaluations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_engine_evaluations_total",
			Help: "Evaluations of policies, of admission, the scan and fixes, by engine (compiled, topdown) and by " +
				"the reason for which topdown judged although the compiled engine is in use (NotCompilable, " +
				"EnginesDiffer, EngineStopped, EvaluationFailed; empty otherwise).",
		}, []string{"engine", "reason"}),
		comparisons: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_engine_comparisons_total",
			Help: "Decisions of the compiled engine that were to be made again by topdown, by result (same, " +
				"different; not_compared where topdown was stopped at a limit, skipped where too many waited).",
		}, []string{"result"}),
		differ: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_policy_engines_differ",
			Help: "1 while a policy's revision is left to topdown, because this process has seen the engines give " +
				"different verdicts of it. Labels: policy.",
		}, []string{"policy"}),
	}
	for _, result := range []string{same, different, notCompared, skipped} {
		m.comparisons.WithLabelValues(result) // an increase shows from zero only
	}
	if err := errors.Join(r.Register(m.evaluations), r.Register(m.comparisons),
		r.Register(m.differ)); err != nil {
		return nil, fmt.Errorf("register the metrics of engines: %w", err)
	}
	return m, nil
}
