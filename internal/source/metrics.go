// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// metrics are what grows as sources are looked at. The gauges are read from the
// sources themselves when they are asked for, so they can't drift from them.
type metrics struct {
	syncs    *prometheus.CounterVec
	duration *prometheus.HistogramVec
	drift    prometheus.Counter
}

func newMetrics(r prometheus.Registerer, sources client.Reader) (*metrics, error) {
	m := &metrics{
		syncs: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "evenkeel_source_syncs_total",
			Help: "Syncs of a repository. Labels: result (Applied, Unchanged, or the reason of the failure).",
		}, []string{"result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "evenkeel_source_sync_duration_seconds",
			Help:    "Time of a sync of a repository, from its start until its policies are in force. Labels: result.",
			Buckets: prometheus.ExponentialBuckets(0.05, 2.5, 9),
		}, []string{"result"}),
		drift: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "evenkeel_source_drift_corrected_total",
			Help: "Policies of sources that somebody else had changed, made or deleted, and that were restored.",
		}),
	}
	var errs []error
	for _, c := range []prometheus.Collector{m.syncs, m.duration, m.drift, newGauges(sources)} {
		errs = append(errs, r.Register(c))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("register the metrics of policy sources: %w", err)
	}
	return m, nil
}

func (m *metrics) looked(seen observation, failed *failure, took time.Duration) {
	if !seen.asked {
		return
	}
	result := "Unchanged"
	switch {
	case failed != nil:
		result = failed.reason
	case seen.wrote():
		result = "Applied"
	}
	m.syncs.WithLabelValues(result).Inc()
	m.duration.WithLabelValues(result).Observe(took.Seconds())
}

func (m *metrics) drifted(policies int) { m.drift.Add(float64(policies)) }

// gauges reads the sources.
type gauges struct {
	sources                                         client.Reader
	ready, suspended, policies, fetched, askedEvery *prometheus.Desc
}

func newGauges(sources client.Reader) *gauges {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(name, help+" Labels: source (namespace/name).", []string{"source"}, nil)
	}
	return &gauges{
		sources: sources,
		ready: desc("evenkeel_source_ready",
			"1 while the newest revision of the repository is in force, else 0; absent while suspended."),
		suspended: desc("evenkeel_source_suspended", "1 while the source is suspended, else 0."),
		policies:  desc("evenkeel_source_policies", "Policies of the source in the cluster."),
		fetched: desc("evenkeel_source_last_fetch_timestamp_seconds",
			"When the repository last answered; absent while suspended."),
		askedEvery: desc("evenkeel_source_interval_seconds", "How often the repository is to be asked."),
	}
}

func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{g.ready, g.suspended, g.policies, g.fetched, g.askedEvery} {
		out <- d
	}
}

// Collect gives the figures; none while the cache isn't filled.
func (g *gauges) Collect(out chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	list := &v1alpha1.PolicySourceList{}
	if err := g.sources.List(ctx, list); err != nil {
		return
	}
	for i := range list.Items {
		src := &list.Items[i]
		give := func(d *prometheus.Desc, value float64) {
			out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, ownerOf(src).String())
		}
		give(g.policies, float64(src.Status.Policies))
		give(g.askedEvery, interval(src).Seconds())
		give(g.suspended, oneIf(src.Spec.Suspend))
		if src.Spec.Suspend {
			continue
		}
		give(g.ready, oneIf(meta.IsStatusConditionTrue(src.Status.Conditions, v1alpha1.ConditionReady)))
		since := src.CreationTimestamp
		if src.Status.LastFetchedTime != nil {
			since = *src.Status.LastFetchedTime
		}
		give(g.fetched, float64(since.Unix()))
	}
}

func oneIf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
