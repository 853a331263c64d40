// SPDX-License-Identifier: Apache-2.0

package analysis

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the figures of asking Prometheus. No label holds a query.
type metrics struct {
	duration *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{duration: prometheus.NewHistogramVec(
		prometheus.HistogramOpts{Name: "evenkeel_analysis_query_duration_seconds",
			Help:    "Time until Prometheus has answered a query, in seconds. Labels: result (Answered or Error).",
			Buckets: prometheus.ExponentialBuckets(0.005, 3, 8)},
		[]string{"result"})}
	r.MustRegister(m.duration)
	return m
}

func (m *metrics) observe(took time.Duration, err error) {
	result := "Answered"
	if err != nil {
		result = "Error"
	}
	m.duration.WithLabelValues(result).Observe(took.Seconds())
}
