package webhook

import (
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/webhook/intake"
)

// Metrics are the figures of admission. Labels never hold names of objects.
type Metrics struct {
	requests   *prometheus.CounterVec
	violations *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	errors     *prometheus.CounterVec
	stopped    *prometheus.CounterVec
	unread     *prometheus.CounterVec
	additions  *prometheus.GaugeVec
	restored   *prometheus.CounterVec
	expiry     prometheus.Gauge
	unservable prometheus.Gauge
}

// The values of the decision label.
const (
	decisionAllowed = "allowed"
	decisionWarned  = "warned"
	decisionDenied  = "denied"
	decisionErrored = "errored"
	decisionBad     = "malformed"
	decisionUnread  = "unread"
	decisionDryRun  = "dry_run"
)

// Values of the action label besides the policy's enforcement actions.
const (
	// actionExisting is a violation that was there before the update.
	actionExisting = "Existing"
	// actionWaived is a violation that a Waiver waives.
	actionWaived = "Waived"
)

// Values of the outcome label.
const (
	outcomeRefused = "refused"
	outcomePassed  = "passed"
)

// NewMetrics registers the metrics of admission.
func NewMetrics(registerer prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_requests_total",
			Help: "Admission requests answered, by operation (CREATE, UPDATE, DELETE, other), decision (allowed, warned, denied, errored, unread, malformed; dry_run for requests that are only tried, whatever the verdict) and endpoint (fail, ignore, policy, strategy, waiver, approval, records, stamp).",
		}, []string{"operation", "decision", "endpoint"}),
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_violations_total",
			Help: "Violations found in admission requests that aren't dry runs, by policy and action (Deny, Warn, Audit; Existing for one that was there before the update, Waived for one under a Waiver).",
		}, []string{"policy", "action"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "evenkeel_admission_duration_seconds",
			Help:    "Time from the arrival of an admission request to its answer, by endpoint (fail, ignore, policy, strategy, waiver, approval, records, stamp).",
			Buckets: []float64{.0005, .001, .002, .005, .01, .02, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"endpoint"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_evaluation_errors_total",
			Help: "Evaluations that failed in admission, that of a fix and dry runs included, by policy. What a policy found before it failed counts all the same.",
		}, []string{"policy"}),
		stopped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_evaluations_stopped_total",
			Help: "Evaluations that were stopped in admission at a limit of time or memory, dry runs included, by policy.",
		}, []string{"policy"}),
		unread: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_unread_total",
			Help: "Admission requests whose object couldn't be read and so wasn't judged, dry runs included, by endpoint (fail, ignore, policy, strategy, waiver, approval, records, stamp), reason (too_large, too_many_values, too_deep, undecodable, incomplete, busy) and outcome (refused; passed where no Deny policy concerns it).",
		}, []string{"endpoint", "reason", "outcome"}),
		additions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_narrowed",
			Help: "1 while somebody else's selectors or conditions narrow an entry of the webhook configurations, so that some requests aren't judged, else 0, by webhook. Of the leader.",
		}, []string{"webhook"}),
		restored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_webhook_put_back_total",
			Help: "Writes of a webhook configuration that put back what somebody else had changed, by configuration (validating, mutating).",
		}, []string{"configuration"}),
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_certificate_expiry_timestamp_seconds",
			Help: "When the certificate expires that this replica serves admission with, in seconds since 1970; 0 before there is one.",
		}),
		unservable: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_certificate_refused",
			Help: "1 while the Secret holds a certificate that this replica can't serve (expired, of another name, authority or key) and so goes on with the one before, else 0.",
		}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.violations, m.duration, m.errors, m.stopped, m.unread, m.additions, m.restored, m.expiry, m.unservable} {
		if err := registerer.Register(c); err != nil {
			return nil, err
		}
	}
	m.expect()
	return m, nil
}

// expect makes the series that alerts watch: an increase from nothing
// isn't one to Prometheus.
func (m *Metrics) expect() {
	for _, configuration := range []string{"validating", "mutating"} {
		m.restored.WithLabelValues(configuration)
	}
	for _, endpoint := range []string{"fail", "ignore"} {
		for _, reason := range intake.Reasons() {
			for _, outcome := range []string{outcomeRefused, outcomePassed} {
				m.unread.WithLabelValues(endpoint, string(reason), outcome)
			}
		}
	}
}

// narrowed notes which entries others have narrowed, of those that are there and those
// that are wanted.
func (m *Metrics) narrowed(is, wanted []hook, additions []narrowed) {
	for _, h := range slices.Concat(is, wanted) {
		m.additions.WithLabelValues(h.name).Set(0)
	}
	for _, n := range additions {
		m.additions.WithLabelValues(n.webhook).Set(1)
	}
}

// putBack counts a write against somebody else's.
func (m *Metrics) putBack(configuration string) { m.restored.WithLabelValues(configuration).Inc() }

// watchReviews registers how full the reader of reviews is.
func watchReviews(registerer prometheus.Registerer, reviews *intake.Reader) error {
	for _, c := range []prometheus.Collector{
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "evenkeel_admission_reserved_bytes",
			Help: "Memory that is reserved for admission reviews in work, of --admission-memory.",
		}, func() float64 { reserved, _ := reviews.Load(); return float64(reserved) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "evenkeel_admission_waiting_requests",
			Help: "Admission reviews that wait for memory to be read or judged.",
		}, func() float64 { _, waiting := reviews.Load(); return float64(waiting) }),
	} {
		if err := registerer.Register(c); err != nil {
			return err
		}
	}
	return nil
}

// expires notes when the certificate that is served from now on expires.
func (m *Metrics) expires(at time.Time) { m.expiry.Set(float64(at.Unix())) }

// refused notes whether the certificate in the Secret can't be served.
func (m *Metrics) refused(yes bool) {
	m.unservable.Set(0)
	if yes {
		m.unservable.Set(1)
	}
}

// answered counts one answer.
func (m *Metrics) answered(endpoint string, req *policy.Request, decision string, took time.Duration) {
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

// unreadReview counts a request that couldn't be read.
func (m *Metrics) unreadReview(endpoint string, reason intake.Reason, outcome string) {
	m.unread.WithLabelValues(endpoint, string(reason), outcome).Inc()
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

// judged counts what the policies found.
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
