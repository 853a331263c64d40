package webhook

import (
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// VerdictMetrics are the figures of what the policies found. Labels never hold names of objects.
type VerdictMetrics struct {
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

// NewVerdictMetrics registers them.
func NewVerdictMetrics(registerer prometheus.Registerer) (*VerdictMetrics, error) {
	m := &VerdictMetrics{
		violations: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_violations_total",
			Help: "Violations found in admission requests that aren't dry runs, by policy and action (Deny, Warn, Audit; Existing for one that was there before the update, Waived for one under a Waiver).",
		}, []string{"policy", "action"}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_evaluation_errors_total",
			Help: "Evaluations that failed in admission, that of a fix and dry runs included, by policy. What a policy found before it failed counts all the same.",
		}, []string{"policy"}),
		stopped: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_admission_evaluations_stopped_total",
			Help: "Evaluations that were stopped in admission at a limit of time or memory, dry runs included, by policy.",
		}, []string{"policy"}),
	}
	return m, registerer.Register(m)
}

// Describe implements prometheus.Collector.
func (m *VerdictMetrics) Describe(to chan<- *prometheus.Desc) {
	m.violations.Describe(to)
	m.errors.Describe(to)
	m.stopped.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *VerdictMetrics) Collect(to chan<- prometheus.Metric) {
	m.violations.Collect(to)
	m.errors.Collect(to)
	m.stopped.Collect(to)
}

// failed counts what couldn't be evaluated, a verdict or its fix.
func (m *VerdictMetrics) failed(v *verdict) {
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
func (m *VerdictMetrics) judged(req *policy.Request, v *verdict) {
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

// CertificateMetrics are the figures of the serving certificate.
type CertificateMetrics struct {
	expiry     prometheus.Gauge
	unservable prometheus.Gauge
}

// NewCertificateMetrics registers them.
func NewCertificateMetrics(registerer prometheus.Registerer) (*CertificateMetrics, error) {
	m := &CertificateMetrics{
		expiry: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_certificate_expiry_timestamp_seconds",
			Help: "When the certificate expires that this replica serves admission with, in seconds since 1970; 0 before there is one.",
		}),
		unservable: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_certificate_refused",
			Help: "1 while the Secret holds a certificate that this replica can't serve (expired, of another name, authority or key) and so goes on with the one before, else 0.",
		}),
	}
	return m, registerer.Register(m)
}

// Describe implements prometheus.Collector.
func (m *CertificateMetrics) Describe(to chan<- *prometheus.Desc) {
	m.expiry.Describe(to)
	m.unservable.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *CertificateMetrics) Collect(to chan<- prometheus.Metric) {
	m.expiry.Collect(to)
	m.unservable.Collect(to)
}

// expires notes when the certificate that is served from now on expires.
func (m *CertificateMetrics) expires(at time.Time) { m.expiry.Set(float64(at.Unix())) }

// refused notes whether the certificate in the Secret can't be served.
func (m *CertificateMetrics) refused(yes bool) {
	m.unservable.Set(0)
	if yes {
		m.unservable.Set(1)
	}
}

// ConfigurationMetrics are the figures of the webhook configurations. Labels hold names of entries.
type ConfigurationMetrics struct {
	additions *prometheus.GaugeVec
	restored  *prometheus.CounterVec
}

// NewConfigurationMetrics registers them.
func NewConfigurationMetrics(registerer prometheus.Registerer) (*ConfigurationMetrics, error) {
	m := &ConfigurationMetrics{
		additions: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_narrowed",
			Help: "1 while somebody else's selectors or conditions narrow an entry of the webhook configurations, so that some requests aren't judged, else 0, by webhook. Of the leader.",
		}, []string{"webhook"}),
		restored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_webhook_put_back_total",
			Help: "Writes of a webhook configuration that put back what somebody else had changed, by configuration (validating, mutating).",
		}, []string{"configuration"}),
	}
	// An increase from nothing isn't one to Prometheus: the series that alerts watch are there from the start.
	for _, configuration := range []string{"validating", "mutating"} {
		m.restored.WithLabelValues(configuration)
	}
	return m, registerer.Register(m)
}

// Describe implements prometheus.Collector.
func (m *ConfigurationMetrics) Describe(to chan<- *prometheus.Desc) {
	m.additions.Describe(to)
	m.restored.Describe(to)
}

// Collect implements prometheus.Collector.
func (m *ConfigurationMetrics) Collect(to chan<- prometheus.Metric) {
	m.additions.Collect(to)
	m.restored.Collect(to)
}

// narrowed notes which entries others have narrowed, of those that are there and those
// that are wanted.
func (m *ConfigurationMetrics) narrowed(is, wanted []hook, additions []narrowed) {
	for _, h := range slices.Concat(is, wanted) {
		m.additions.WithLabelValues(h.name).Set(0)
	}
	for _, n := range additions {
		m.additions.WithLabelValues(n.webhook).Set(1)
	}
}

// putBack counts a write against somebody else's.
func (m *ConfigurationMetrics) putBack(configuration string) {
	m.restored.WithLabelValues(configuration).Inc()
}
