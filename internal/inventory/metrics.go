// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// gauges tell what is kept, and what isn't known, when they are asked for. Every replica has its own.
type gauges struct {
	store    *Store
	policies Policies

	objects, bytes, unknown *prometheus.Desc
}

// RegisterMetrics registers the figures of what policies refer to.
func RegisterMetrics(r prometheus.Registerer, s *Store, policies Policies) error {
	g := &gauges{store: s, policies: policies,
		objects: prometheus.NewDesc("evenkeel_reference_objects",
			"Objects that are kept since policies refer to their kind, once for each different reference. "+
				"Labels: group, kind.", []string{"group", "kind"}, nil),
		bytes: prometheus.NewDesc("evenkeel_reference_bytes",
			"About how much memory they take, of --reference-max-memory. Labels: group, kind.",
			[]string{"group", "kind"}, nil),
		unknown: prometheus.NewDesc("evenkeel_policy_reference_unknown",
			"1 for each kind that the policy refers to and this replica doesn't know, so that it can't evaluate the "+
				"policy. Labels: policy, group, kind, reason.", []string{"policy", "group", "kind", "reason"}, nil),
	}
	if err := r.Register(g); err != nil {
		return fmt.Errorf("register the metrics of what policies refer to: %w", err)
	}
	return nil
}

func (g *gauges) Describe(out chan<- *prometheus.Desc) {
	out <- g.objects
	out <- g.bytes
	out <- g.unknown
}

func (g *gauges) Collect(out chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for kind, kept := range g.store.figures() {
		gauge(g.objects, float64(kept.objects), kind.Group, kind.Kind)
		gauge(g.bytes, float64(kept.bytes), kind.Group, kind.Kind)
	}
	snapshot := g.policies.Snapshot()
	for _, p := range snapshot.Policies() {
		told := map[schema.GroupKind]bool{} // of a kind that is referred to twice, once
		for _, u := range g.store.Unknown(snapshot.ReferencesOf(p.Name)) {
			kind := schema.GroupKind{Group: u.Reference.Group, Kind: u.Reference.Kind}
			if !told[kind] {
				gauge(g.unknown, 1, p.Name, kind.Group, kind.Kind, u.Reason)
			}
			told[kind] = true
		}
	}
}

// figure is what is kept of a kind.
type figure struct {
	objects int
	bytes   int64
}

// figures are what is kept of each kind that is followed; of one that isn't known, nothing.
func (s *Store) figures() map[schema.GroupKind]figure {
	s.mu.RLock()
	followers := slices.Collect(maps.Values(s.followers))
	s.mu.RUnlock()
	out := map[schema.GroupKind]figure{}
	for _, f := range followers {
		f.mu.Lock()
		held := f.held
		f.mu.Unlock()
		sum := out[f.kind()]
		if held != nil {
			sum.objects += held.Len()
			sum.bytes += held.Bytes()
		}
		out[f.kind()] = sum
	}
	return out
}
