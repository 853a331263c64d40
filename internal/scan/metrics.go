// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// metrics are the counters that grow as the scan goes. The gauges are read from
// the Index when they are asked for, so they can't drift from it, and those of a
// policy that is gone are gone with it.
type metrics struct {
	evaluationErrors *prometheus.CounterVec
	listFailures     *prometheus.CounterVec
	duration         prometheus.Histogram
}

func newMetrics(r prometheus.Registerer, x *index.Index) (*metrics, error) {
	m := &metrics{
		evaluationErrors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_scan_evaluation_errors_total",
			Help: "Evaluations of an existing object that failed. Labels: policy.",
		}, []string{"policy"}),
		listFailures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_scan_list_failures_total",
			Help: "Attempts to list or watch a kind that failed. Labels: group, kind.",
		}, []string{"group", "kind"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "evenkeel_scan_duration_seconds",
			Help:    "Time of a pass over one kind, from its start until the kind is listed and watched.",
			Buckets: prometheus.ExponentialBuckets(0.01, 3, 10),
		}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.evaluationErrors, m.listFailures, m.duration, newGauges(x)} {
		errs = append(errs, r.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("register the scan's metrics: %w", err)
	}
	return m, nil
}

func (m *metrics) forgetPolicies(names []string) {
	for _, name := range names {
		m.evaluationErrors.DeleteLabelValues(name)
	}
}

// gauges reads the Index.
type gauges struct {
	index                                      *index.Index
	info, objects, violating, waived, lastFull *prometheus.Desc
}

func newGauges(x *index.Index) *gauges {
	return &gauges{
		index: x,
		info: prometheus.NewDesc("evenkeel_policy_info",
			"1 for each policy in force, to join its owner and severity to other figures. Labels: policy, owner, "+
				"severity.", []string{"policy", "owner", "severity"}, nil),
		objects: prometheus.NewDesc("evenkeel_scan_objects",
			"Objects that the policy judged. Labels: policy.", []string{"policy"}, nil),
		violating: prometheus.NewDesc("evenkeel_scan_violating_objects",
			"Objects that violate the policy. Labels: policy, severity.", []string{"policy", "severity"}, nil),
		waived: prometheus.NewDesc("evenkeel_scan_waived_objects",
			"Objects whose violations of the policy a Waiver waives. Labels: policy.", []string{"policy"}, nil),
		lastFull: prometheus.NewDesc("evenkeel_scan_last_full_timestamp_seconds",
			"When the kind was last listed in full, as a Unix time. Labels: group, kind.", []string{"group", "kind"},
			nil),
	}
}

func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.info
	out <- g.objects
	out <- g.violating
	out <- g.waived
	out <- g.lastFull
}

func (g *gauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	g.index.Figures(func(policy string, severity v1alpha1.Severity, owner string, c index.Counts) {
		gauge(g.info, 1, policy, owner, string(severity))
		gauge(g.objects, float64(c.Scanned), policy)
		gauge(g.violating, float64(c.Violating), policy, string(severity))
		gauge(g.waived, float64(c.Waived), policy)
	})
	g.index.Listings(func(gk schema.GroupKind, at time.Time) {
		gauge(g.lastFull, float64(at.UnixMilli())/1000, gk.Group, gk.Kind)
	})
}
