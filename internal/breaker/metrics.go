// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// metrics are the figures of the circuit breakers.
type metrics struct {
	open, demoted *prometheus.GaugeVec
	transitions   *prometheus.CounterVec
	resets        *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_breaker_open",
			Help: "Circuit breakers that aren't closed: 0 or 1, and for scope Namespace the number of them. Labels: " +
				"scope (Global, Policy or Namespace), policy (empty but for Policy)."}, []string{"scope", "policy"}),
		demoted: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_breaker_demoted",
			Help: "1 while only dry runs are made for the policy. Labels: policy."}, []string{"policy"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_breaker_transitions_total",
			Help: "Changes of a circuit breaker's state. Labels: scope, policy, state (the new one)."},
			[]string{"scope", "policy", "state"}),
		resets: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_breaker_resets_total",
			Help: "Resets of a circuit breaker by a person. Labels: scope, policy."}, []string{"scope", "policy"}),
	}
	r.MustRegister(m.open, m.demoted, m.transitions, m.resets)
	return m
}

// transition counts what a write of a breaker's status has changed.
func (m *metrics) transition(before, cb *v1alpha1.RemediationBreaker) {
	scope, policy := string(cb.Spec.Scope.Type), cb.Spec.Scope.Policy
	if was := before.Status.State; was != cb.Status.State && was != "" {
		m.transitions.WithLabelValues(scope, policy, string(cb.Status.State)).Inc()
	}
	if before.Status.LastHandledResetToken != cb.Status.LastHandledResetToken {
		m.resets.WithLabelValues(scope, policy).Inc()
	}
}

// set shows the state of all breakers. Namespaces have no label: they are counted.
func (m *metrics) set(list []v1alpha1.RemediationBreaker, now time.Time) {
	inNamespaces := 0.0
	for _, cb := range list {
		open := one(cb.Spec.ForcedOpen(now) || cb.Status.State != v1alpha1.BreakerClosed && cb.Status.State != "")
		policy := cb.Spec.Scope.Policy
		switch cb.Spec.Scope.Type {
		case v1alpha1.BreakerScopeNamespace:
			inNamespaces += open
			continue
		case v1alpha1.BreakerScopePolicy:
			m.demoted.WithLabelValues(policy).Set(one(cb.Status.Demoted != nil))
		case v1alpha1.BreakerScopeGlobal:
		}
		m.open.WithLabelValues(string(cb.Spec.Scope.Type), policy).Set(open)
	}
	m.open.WithLabelValues(string(v1alpha1.BreakerScopeNamespace), "").Set(inNamespaces)
}

// gone removes the figures of a policy's breaker that was deleted.
func (m *metrics) gone(policy string) {
	m.open.DeleteLabelValues(string(v1alpha1.BreakerScopePolicy), policy)
	m.demoted.DeleteLabelValues(policy)
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
