// SPDX-License-Identifier: Apache-2.0

package configuration

import (
	"errors"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the figures of the webhook configurations. Labels hold names of entries.
type metrics struct {
	additions *prometheus.GaugeVec
	restored  *prometheus.CounterVec
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
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
	return m, errors.Join(registerer.Register(m.additions), registerer.Register(m.restored))
}

// narrowed notes which entries others have narrowed, of those that are there and those
// that are wanted.
func (m *metrics) narrowed(is, wanted []hook, additions []narrowed) {
	for _, h := range slices.Concat(is, wanted) {
		m.additions.WithLabelValues(h.name).Set(0)
	}
	for _, n := range additions {
		m.additions.WithLabelValues(n.webhook).Set(1)
	}
}

func (m *metrics) countRestored(configuration string) {
	m.restored.WithLabelValues(configuration).Inc()
}
