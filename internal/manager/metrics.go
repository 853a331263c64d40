// SPDX-License-Identifier: Apache-2.0

package manager

import "github.com/prometheus/client_golang/prometheus"

func newBrokenGuards() prometheus.Gauge {
	return prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "evenkeel_request_guards_broken",
		Help: "ValidatingAdmissionPolicies that protect records and people's requests, and bindings of them, that " +
			"are missing, changed or can't be read. Of the leader.",
	})
}
