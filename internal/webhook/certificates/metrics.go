// SPDX-License-Identifier: Apache-2.0

package certificates

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics are the figures of the serving certificate.
type metrics struct {
	expiry     prometheus.Gauge
	unservable prometheus.Gauge
}

func newMetrics(registerer prometheus.Registerer) (*metrics, error) {
	m := &metrics{
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
	return m, errors.Join(registerer.Register(m.expiry), registerer.Register(m.unservable))
}

func (m *metrics) expires(at time.Time) { m.expiry.Set(float64(at.Unix())) }

func (m *metrics) refused(yes bool) {
	m.unservable.Set(0)
	if yes {
		m.unservable.Set(1)
	}
}
