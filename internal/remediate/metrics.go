package remediate

import (
	"sync"

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

// approvalMetrics are the figures of plans that people answer.
type approvalMetrics struct{ wait *prometheus.HistogramVec }

func newApprovalMetrics(r prometheus.Registerer) *approvalMetrics {
	m := &approvalMetrics{wait: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "evenkeel_approval_wait_seconds",
		Help:    "Time from a plan's creation to the answer that was taken, in seconds. Labels: policy, decision (Approve or Reject).",
		Buckets: prometheus.ExponentialBuckets(30, 3, 10)}, []string{"policy", "decision"})}
	r.MustRegister(m.wait)
	return m
}

// answered counts the answer that a plan acts by.
func (m *approvalMetrics) answered(plan *v1alpha1.Remediation) {
	given := plan.Status.Approval
	m.wait.WithLabelValues(plan.Spec.Plan.Policy.Name, string(given.Decision)).Observe(given.At.Sub(plan.CreationTimestamp.Time).Seconds())
}

// breakerMetrics are the figures of the circuit breakers.
type breakerMetrics struct {
	open, demoted *prometheus.GaugeVec
	transitions   *prometheus.CounterVec
	resets        *prometheus.CounterVec

	mu sync.Mutex
	// shown are the policies that the gauges show, so that one that is gone leaves.
	shown map[string]bool
}

func newBreakerMetrics(r prometheus.Registerer) *breakerMetrics {
	m := &breakerMetrics{shown: map[string]bool{},
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_breaker_open",
			Help: "Circuit breakers that aren't closed: 0 or 1, and for scope Namespace the number of them. Labels: scope (Global, Policy or Namespace), policy (empty but for Policy)."}, []string{"scope", "policy"}),
		demoted: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_breaker_demoted",
			Help: "1 while only dry runs are made for the policy. Labels: policy."}, []string{"policy"}),
		transitions: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_breaker_transitions_total",
			Help: "Changes of a circuit breaker's state. Labels: scope, policy, state (the new one)."}, []string{"scope", "policy", "state"}),
		resets: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_breaker_resets_total",
			Help: "Resets of a circuit breaker by a person. Labels: scope, policy."}, []string{"scope", "policy"}),
	}
	r.MustRegister(m.open, m.demoted, m.transitions, m.resets)
	return m
}

// transition counts what a write of a breaker's status has changed.
func (m *breakerMetrics) transition(before, cb *v1alpha1.RemediationBreaker) {
	scope, policy := string(cb.Spec.Scope.Type), cb.Spec.Scope.Policy
	if was := before.Status.State; was != cb.Status.State && was != "" {
		m.transitions.WithLabelValues(scope, policy, string(cb.Status.State)).Inc()
	}
	if before.Status.LastHandledResetToken != cb.Status.LastHandledResetToken {
		m.resets.WithLabelValues(scope, policy).Inc()
	}
}

// set shows the state of all breakers. Namespaces have no label: they are counted.
func (m *breakerMetrics) set(list []v1alpha1.RemediationBreaker) {
	m.mu.Lock()
	defer m.mu.Unlock()
	shown, inNamespaces := map[string]bool{}, 0.0
	for _, cb := range list {
		open := one(cb.Spec.ForcedOpen() || cb.Status.State != v1alpha1.BreakerClosed && cb.Status.State != "")
		policy := cb.Spec.Scope.Policy
		switch cb.Spec.Scope.Type {
		case v1alpha1.BreakerScopeNamespace:
			inNamespaces += open
			continue
		case v1alpha1.BreakerScopePolicy:
			shown[policy] = true
			m.demoted.WithLabelValues(policy).Set(one(cb.Status.Demoted != nil))
		case v1alpha1.BreakerScopeGlobal:
		}
		m.open.WithLabelValues(string(cb.Spec.Scope.Type), policy).Set(open)
	}
	m.open.WithLabelValues(string(v1alpha1.BreakerScopeNamespace), "").Set(inNamespaces)
	for policy := range m.shown {
		if !shown[policy] {
			m.open.DeleteLabelValues(string(v1alpha1.BreakerScopePolicy), policy)
			m.demoted.DeleteLabelValues(policy)
		}
	}
	m.shown = shown
}

// settled counts the targets that have reached a final state.
func (m *metrics) settled(policy string, before []TargetView, b *book) {
	for i := range b.places {
		if rec := b.record(i); rec.State != before[i].State && !unsettled(rec.State) {
			m.targets.WithLabelValues(policy, string(rec.State), rec.Reason).Inc()
		}
	}
}

// observe counts the transitions of one step.
func (m *metrics) observe(rem *v1alpha1.Remediation, o Observation, intent Intent, before []TargetView, b *book) {
	policy := rem.Spec.Plan.Policy.Name
	m.settled(policy, before, b)
	m.held.WithLabelValues(policy).Set(one(intent.Phase == v1alpha1.PhaseHeld || intent.Phase == v1alpha1.PhaseAwaitingApproval))
	m.inFlight.WithLabelValues(policy).Set(float64(b.counts().InFlight))
	if intent.Phase == o.Status.Phase {
		return
	}
	wave := "wave"
	if canaryWave(o.Spec.Plan, o.Status.Wave) {
		wave = "canary"
	}
	switch {
	case intent.Phase == v1alpha1.PhaseRollingBack:
		m.rollbacks.WithLabelValues(policy, wave).Inc()
	case o.Status.Phase == v1alpha1.PhaseSoaking && intent.Phase == v1alpha1.PhaseApplying:
		m.waves.WithLabelValues(policy, wave).Inc()
	}
	if intent.Phase.Final() && intent.Reason != v1alpha1.ReasonUndone { // an undone plan has ended before
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
	m.samples.WithLabelValues(rem.Spec.Plan.Policy.Name, result).Inc()
}

func one(is bool) float64 {
	if is {
		return 1
	}
	return 0
}
