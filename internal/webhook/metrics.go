// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

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
			Help: "When the certificate expires that this replica serves admission with, in seconds since 1970; 0 " +
				"before there is one.",
		}),
		unservable: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "evenkeel_webhook_certificate_refused",
			Help: "1 while the Secret holds a certificate that this replica can't serve (expired, of another name, " +
				"authority or key) and so goes on with the one before, else 0.",
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
			Help: "1 while somebody else's selectors or conditions narrow an entry of the webhook configurations, so " +
				"that some requests aren't judged, else 0, by webhook. Of the leader.",
		}, []string{"webhook"}),
		restored: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_webhook_restored_total",
			Help: "Writes of a webhook configuration that restored what somebody else had changed, by configuration " +
				"(validating, mutating).",
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

// countRestored counts a write against somebody else's.
func (m *ConfigurationMetrics) countRestored(configuration string) {
	m.restored.WithLabelValues(configuration).Inc()
}
