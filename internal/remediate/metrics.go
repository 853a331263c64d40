package remediate

import (
	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// metrics are the figures of remediation. No label holds an object's name.
type metrics struct {
	plans     *prometheus.CounterVec
	targets   *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	rollbacks *prometheus.CounterVec
	held      *prometheus.GaugeVec
	inFlight  *prometheus.GaugeVec
	waves     *prometheus.CounterVec
	samples   *prometheus.CounterVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		plans: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_plans_total",
			Help: "Plans that reached a final phase. Labels: policy, phase."}, []string{"policy", "phase"}),
		targets: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_targets_total",
			Help: "Targets that reached a state. Labels: policy, state, reason."}, []string{"policy", "state", "reason"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "evenkeel_remediation_plan_duration_seconds",
			Help: "Time from a plan's creation to its final phase, in seconds. Labels: policy, phase.", Buckets: prometheus.ExponentialBuckets(1, 3, 11)}, []string{"policy", "phase"}),
		rollbacks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_rollbacks_total",
			Help: "Waves that were rolled back. Labels: policy, wave (canary or wave)."}, []string{"policy", "wave"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_remediation_held",
			Help: "1 while the policy's plan waits for something. Labels: policy."}, []string{"policy"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_remediation_in_flight",
			Help: "Targets being written or verified. Labels: policy."}, []string{"policy"}),
	}
	m.waves = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_waves_total",
		Help: "Waves that were verified and soaked. Labels: policy, wave (canary or wave)."}, []string{"policy", "wave"})
	m.samples = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_analysis_samples_total",
		Help: "Answers of metrics that rollouts are judged by. Labels: policy, result (Baseline, Met, Missed or Inconclusive)."}, []string{"policy", "result"})
	r.MustRegister(m.plans, m.targets, m.duration, m.rollbacks, m.held, m.inFlight, m.waves, m.samples)
	return m
}

// breakerMetrics are the figures of the circuit breakers.
type breakerMetrics struct {
	open        *prometheus.GaugeVec
	transitions *prometheus.CounterVec
}

func newBreakerMetrics(r prometheus.Registerer) *breakerMetrics {
	m := &breakerMetrics{
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_breaker_open",
			Help: "1 while the circuit breaker isn't closed. Labels: scope (Global or Policy), policy (empty for Global)."}, []string{"scope", "policy"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_breaker_transitions_total",
			Help: "Changes of a circuit breaker's state. Labels: scope, policy, state (the new one)."}, []string{"scope", "policy", "state"}),
	}
	r.MustRegister(m.open, m.transitions)
	return m
}

// breaker counts what a write of a breaker's status has changed.
func (m *breakerMetrics) breaker(cb *v1alpha1.CircuitBreaker, was v1alpha1.BreakerState) {
	scope, policy, open := string(cb.Spec.Scope.Type), cb.Spec.Scope.Policy, 0.0
	if cb.Status.State != v1alpha1.BreakerClosed {
		open = 1
	}
	m.open.WithLabelValues(scope, policy).Set(open)
	if was != cb.Status.State && was != "" {
		m.transitions.WithLabelValues(scope, policy, string(cb.Status.State)).Inc()
	}
}

// observe counts the transitions of one step.
func (m *metrics) observe(rem *v1alpha1.Remediation, o Observation, intent Intent, before []TargetView, b *book) {
	policy := rem.Spec.Policy.Name
	for i := range b.places {
		if rec := b.record(i); rec.State != before[i].State && !unsettled(rec.State) {
			m.targets.WithLabelValues(policy, string(rec.State), rec.Reason).Inc()
		}
	}
	held := 0.0
	if intent.Phase == v1alpha1.PhaseHeld {
		held = 1
	}
	m.held.WithLabelValues(policy).Set(held)
	m.inFlight.WithLabelValues(policy).Set(float64(b.counts().InFlight))
	if intent.Phase == o.Status.Phase {
		return
	}
	wave := "wave"
	if o.Status.Wave == 0 {
		wave = "canary"
	}
	switch {
	case intent.Phase == v1alpha1.PhaseRollingBack:
		m.rollbacks.WithLabelValues(policy, wave).Inc()
	case o.Status.Phase == v1alpha1.PhaseSoaking && intent.Phase == v1alpha1.PhaseApplying:
		m.waves.WithLabelValues(policy, wave).Inc()
	}
	if Final(intent.Phase) {
		m.plans.WithLabelValues(policy, string(intent.Phase)).Inc()
		m.duration.WithLabelValues(policy, string(intent.Phase)).Observe(o.Now.Sub(rem.CreationTimestamp.Time).Seconds())
	}
}

// sampled counts one answer of a metric by what became of its record.
func (m *metrics) sampled(rem *v1alpha1.Remediation, before, after v1alpha1.MetricRecord) {
	result := "Met"
	switch {
	case after.Verdict == v1alpha1.AnalysisInconclusive:
		result = "Inconclusive"
	case after.Failed > before.Failed:
		result = "Missed"
	case after.Passed == 0:
		result = "Baseline"
	}
	m.samples.WithLabelValues(rem.Spec.Policy.Name, result).Inc()
}
