// SPDX-License-Identifier: Apache-2.0

package kube

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
)

// registerCredentials makes the metrics of Credentials: a counter of refusals, and
// whether the API server refuses now.
func registerCredentials(r prometheus.Registerer, refused func() bool) (prometheus.Counter, error) {
	refusals := prometheus.NewCounter(prometheus.CounterOpts{
		Name: "evenkeel_api_unauthorized_total",
		Help: "Requests that the API server refused because it doesn't know this replica's credentials (401).",
	})
	now := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "evenkeel_api_credentials_refused",
		Help: "1 while the API server refuses this replica's credentials (401), else 0.",
	}, func() float64 {
		if refused() {
			return 1
		}
		return 0
	})
	for _, collector := range []prometheus.Collector{refusals, now} {
		if err := r.Register(collector); err != nil {
			return nil, fmt.Errorf("register the metrics of credentials: %w", err)
		}
	}
	return refusals, nil
}

// registerLists makes the metric of Lists; a nil registerer leaves it to nobody.
func registerLists(r prometheus.Registerer) (*prometheus.CounterVec, error) {
	malformed := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "evenkeel_malformed_objects_total",
		Help: "Versions of objects of Evenkeel's own kinds that can't be read and count for nothing, by kind; the " +
			"log names them.",
	}, []string{"kind"})
	if r == nil {
		return malformed, nil
	}
	if err := r.Register(malformed); err != nil {
		return nil, fmt.Errorf("register the metrics of lists: %w", err)
	}
	return malformed, nil
}
