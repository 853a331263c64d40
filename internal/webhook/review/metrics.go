// SPDX-License-Identifier: Apache-2.0

package review

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// Metrics are the figures of what the policies found. Labels never hold names of objects.
type Metrics struct {
	violations *prometheus.CounterVec
	errors     *prometheus.CounterVec
	stopped    *prometheus.CounterVec
}

// Values of the action label besides the policy's enforcement actions.
const (
	// actionExisting is a violation that was there before the update.
	actionExisting = "Existing"
	// actionWaived is a violation that a Waiver waives.
	actionWaived = "Waived"
)

// NewMetrics registers them.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_violations_total",
			Help: "Violations found in admission requests that aren't dry runs, by policy and action (Deny, Warn, " +
				"Audit; Existing for one that was there before the update, Waived for one under a Waiver).",
		}, []string{"policy", "action"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_evaluation_errors_total",
			Help: "Evaluations that failed in admission, that of a fix and dry runs included, by policy. What a " +
				"policy found before it failed counts all the same.",
		}, []string{"policy"}),
		stopped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_evaluations_stopped_total",
			Help: "Evaluations that were stopped in admission at a limit of time or memory, dry runs included, by " +
				"policy.",
		}, []string{"policy"}),
	}
	return m, errors.Join(registerer.Register(m.violations), registerer.Register(m.errors),
		registerer.Register(m.stopped))
}

// failed counts what couldn't be evaluated, a verdict or its fix.
func (m *Metrics) failed(v *verdict) {
	for _, f := range v.failed {
		if f.policy == "" {
			continue
		}
		m.errors.WithLabelValues(f.policy).Inc()
		if errors.Is(f.err, rego.ErrTimeLimit) || errors.Is(f.err, rego.ErrMemoryLimit) {
			m.stopped.WithLabelValues(f.policy).Inc()
		}
	}
	for _, f := range v.findings {
		if f.fixErr != nil {
			m.errors.WithLabelValues(f.policy).Inc()
		}
	}
}

func (m *Metrics) judged(req *policy.Request, v *verdict) {
	m.failed(v)
	if req.DryRun {
		return
	}
	for _, f := range v.findings {
		if f.atWorkload {
			continue // counted at the workload
		}
		action := string(f.action)
		switch {
		case f.waived != nil:
			action = actionWaived
		case f.old:
			action = actionExisting
		}
		m.violations.WithLabelValues(f.policy, action).Add(float64(len(f.violations)))
	}
}
