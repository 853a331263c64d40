// SPDX-License-Identifier: Apache-2.0

package receiver

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count the messages of a push.
type metrics struct{ requests *prometheus.CounterVec }

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{requests: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "evenkeel_source_receiver_requests_total",
		Help: "Messages of a push. Labels: result (Accepted, Ignored, Refused, Limited, Failed).",
	}, []string{"result"})}
	if err := r.Register(m.requests); err != nil {
		return nil, fmt.Errorf("register the receiver's metrics: %w", err)
	}
	return m, nil
}

func (m *metrics) received(result string) { m.requests.WithLabelValues(result).Inc() }
