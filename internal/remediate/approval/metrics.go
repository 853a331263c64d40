// SPDX-License-Identifier: Apache-2.0

package approval

import (
	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// metrics are the figures of plans that people answer.
type metrics struct{ wait *prometheus.HistogramVec }

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "evenkeel_approval_wait_seconds",
		Help: "Time from a plan's creation to the answer that was taken, in seconds. Labels: policy, decision " +
			"(Approve or Reject).",
		Buckets: prometheus.ExponentialBuckets(30, 3, 10)}, []string{"policy", "decision"})}
	r.MustRegister(m.wait)
	return m
}

// answered counts the answer that a plan acts by.
func (m *metrics) answered(plan *v1alpha1.Remediation) {
	given := plan.Status.Approval
	m.wait.WithLabelValues(plan.Spec.Plan.Policy.Name, string(given.Decision)).Observe(
		given.DecisionTime.Sub(plan.CreationTimestamp.Time).Seconds())
}
