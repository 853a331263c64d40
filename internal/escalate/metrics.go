// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the figures of escalation. No label holds an object's name.
type metrics struct {
	alerts *prometheus.GaugeVec
	posts  *prometheus.CounterVec
	since  *prometheus.HistogramVec
	delay  prometheus.Histogram
	last   prometheus.Gauge
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		alerts: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_escalation_alerts",
			Help: "1 for each alert that fires. Labels: alert, severity, policy, owner, scope and covers (a " +
				"breaker's namespace)."},
			[]string{"alert", "severity", "policy", "owner", "scope", "covers"}),
		posts: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_escalation_posts_total",
			Help: "Ticks by whether an Alertmanager was asked and took all there was to send. Labels: peer (its " +
				"host), result (success or failure)."}, []string{"peer", "result"}),
		since: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "evenkeel_escalation_time_to_escalation_seconds",
				Help: "Time from the beginning of a fault until an Alertmanager took its alert, deadlines that the " +
					"policy allows included. Labels: alert.",
				Buckets: prometheus.ExponentialBuckets(0.25, 2, 20)}, []string{"alert"}),
		delay: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "evenkeel_escalation_delivery_delay_seconds",
			Help:    "Time from when an alert was due until an Alertmanager took it.",
			Buckets: prometheus.ExponentialBuckets(0.125, 2, 16)}),
		last: prometheus.NewGauge(prometheus.GaugeOpts{Name: "evenkeel_escalation_last_tick_timestamp_seconds",
			Help: "When the alerts were last derived from the objects, as a Unix time."}),
	}
	r.MustRegister(m.alerts, m.posts, m.since, m.delay, m.last)
	return m
}

func (m *metrics) derived(alerts []Alert, own string, now time.Time) {
	m.alerts.Reset()
	for _, a := range alerts {
		covers := a.Namespace
		if covers == own {
			covers = ""
		}
		m.alerts.WithLabelValues(a.Name, a.Severity, a.Policy, a.Owner, a.Scope, covers).Set(1)
	}
	m.last.Set(float64(now.UnixMilli()) / 1000)
}

func (m *metrics) posted(peer string, err error) {
	result := "success"
	if err != nil {
		result = "failure"
	}
	m.posts.WithLabelValues(peer, result).Inc()
}

// escalated counts an alert that was taken for the first time.
func (m *metrics) escalated(a Alert, at time.Time) {
	m.since.WithLabelValues(a.Name).Observe(at.Sub(a.Since).Seconds())
	m.delay.Observe(at.Sub(a.StartsAt).Seconds())
}
