// SPDX-License-Identifier: Apache-2.0

package serving

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Metrics are the figures of admission requests, whatever they are about. Labels never hold names of objects.
type Metrics struct {
	requests *prometheus.CounterVec
	duration *prometheus.HistogramVec
	unread   *prometheus.CounterVec
}

// The values of the decision label.
const (
	DecisionAllowed = "allowed"
	DecisionWarned  = "warned"
	DecisionDenied  = "denied"
	DecisionErrored = "errored"
	DecisionBad     = "malformed"
	DecisionUnread  = "unread"
	decisionDryRun  = "dry_run"
)

// Values of the outcome label.
const (
	OutcomeRefused = "refused"
	OutcomePassed  = "passed"
)

// NewMetrics registers them.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_requests_total",
			Help: "Admission requests answered, by operation (CREATE, UPDATE, DELETE, other), decision (allowed, " +
				"warned, denied, errored, unread, malformed; dry_run for requests that are only tried, whatever the " +
				"verdict) and endpoint (fail, ignore, policy, strategy, waiver, approval, records, stamp).",
		}, []string{"operation", "decision", "endpoint"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "evenkeel_admission_duration_seconds",
			Help: "Time from the arrival of an admission request to its answer, by endpoint (fail, ignore, policy, " +
				"strategy, waiver, approval, records, stamp).",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"endpoint"}),
		unread: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_unread_total",
			Help: "Admission requests whose object couldn't be read and so wasn't judged, dry runs included, by " +
				"endpoint (fail, ignore, policy, strategy, waiver, approval, records, stamp), reason (too_large, " +
				"too_many_values, undecodable, incomplete, busy) and outcome (refused; passed where no " +
				"Deny policy concerns it).",
		}, []string{"endpoint", "reason", "outcome"}),
	}
	m.expect()
	return m, registerer.Register(m)
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	m.requests.Describe(to)
	m.duration.Describe(to)
	m.unread.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	m.requests.Collect(to)
	m.duration.Collect(to)
	m.unread.Collect(to)
}

// expect makes the series that alerts watch: an increase from nothing
// isn't one to Prometheus.
func (m *Metrics) expect() {
	for _, endpoint := range []string{"fail", "ignore"} {
		for _, reason := range Reasons() {
			for _, outcome := range []string{OutcomeRefused, OutcomePassed} {
				m.unread.WithLabelValues(endpoint, string(reason), outcome)
			}
		}
	}
}

// Answered counts one answer.
func (m *Metrics) Answered(endpoint string, req *policy.Request, decision string, took time.Duration) {
	operation := "other"
	if req != nil {
		switch req.Operation {
		case policy.Create, policy.Update, policy.Delete, policy.Connect:
			operation = string(req.Operation)
		}
		if req.DryRun {
			decision = decisionDryRun
		}
	}
	m.requests.WithLabelValues(operation, decision, endpoint).Inc()
	m.duration.WithLabelValues(endpoint).Observe(took.Seconds())
}

// Unread counts a request that couldn't be read.
func (m *Metrics) Unread(endpoint string, reason Reason, outcome string) {
	m.unread.WithLabelValues(endpoint, string(reason), outcome).Inc()
}
