// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/approval"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
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
	wait      *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		plans: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_plans_total",
			Help: "Plans that reached a final phase. Labels: policy, phase."}, []string{"policy", "phase"}),
		targets: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_targets_total",
			Help: "Targets that reached a state. Labels: policy, state, reason."}, []string{"policy", "state",
			"reason"}),
		duration: prometheus.NewHistogramVec(
			prometheus.HistogramOpts{Name: "evenkeel_remediation_plan_duration_seconds",
				Help:    "Time from a plan's creation to its final phase, in seconds. Labels: policy, phase.",
				Buckets: prometheus.ExponentialBuckets(1, 3, 11)}, []string{"policy", "phase"}),
		rollbacks: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_rollbacks_total",
			Help: "Waves that were rolled back. Labels: policy, wave (canary or wave)."}, []string{"policy", "wave"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_remediation_held",
			Help: "1 while the policy's plan waits for something. Labels: policy."}, []string{"policy"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "evenkeel_remediation_in_flight",
			Help: "Targets being written or verified. Labels: policy."}, []string{"policy"}),
	}
	m.waves = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_remediation_waves_total",
		Help: "Waves that were verified and soaked. Labels: policy, wave (canary or wave)."}, []string{"policy",
		"wave"})
	m.samples = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "evenkeel_analysis_samples_total",
		Help: "Answers of metrics that rollouts are judged by. Labels: policy, result (Baseline, Met, Missed or " +
			"Inconclusive)."}, []string{"policy", "result"})
	m.wait = prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "evenkeel_approval_wait_seconds",
		Help: "Time from a plan's creation, or the end of the step before, to the answer that was taken, in seconds. " +
			"Labels: policy, decision (Approve or Reject).",
		Buckets: prometheus.ExponentialBuckets(30, 3, 10)}, []string{"policy", "decision"})
	r.MustRegister(m.plans, m.targets, m.duration, m.rollbacks, m.held, m.inFlight, m.waves, m.samples, m.wait)
	return m
}

// answered counts the answer that a plan acts on.
func (m *metrics) answered(plan *v1alpha1.Remediation) {
	given := plan.Status.Approval
	m.wait.WithLabelValues(plan.Spec.Plan.Policy.Name, string(given.Decision)).Observe(
		given.DecisionTime.Sub(approval.Asked(plan)).Seconds())
}

// countFinished counts the targets that have reached a final state.
func (m *metrics) countFinished(policy string, before []rollout.TargetView, b *record.Records) {
	for i := range b.Places {
		if rec := b.Record(i); rec.State != before[i].State && rec.State.Settled() {
			m.targets.WithLabelValues(policy, string(rec.State), rec.Reason).Inc()
		}
	}
}

// observe counts the transitions of one step.
func (m *metrics) observe(rem *v1alpha1.Remediation, o rollout.Observation, intent rollout.Intent,
	before []rollout.TargetView, b *record.Records) {
	policy := rem.Spec.Plan.Policy.Name
	m.countFinished(policy, before, b)
	m.held.WithLabelValues(policy).Set(
		one(intent.Phase.Facts().Waits))
	m.inFlight.WithLabelValues(policy).Set(float64(b.Counts().InFlight))
	if intent.Phase == o.Status.Phase {
		return
	}
	wave := "wave"
	if rollout.CanaryWave(o.Spec.Plan, o.Status.Wave) {
		wave = "canary"
	}
	switch {
	case intent.Phase.Facts().Undoing():
		m.rollbacks.WithLabelValues(policy, wave).Inc()
	case o.WaveDone(intent):
		m.waves.WithLabelValues(policy, wave).Inc()
	}
	if intent.Phase.Final() && intent.Reason != v1alpha1.ReasonUndone { // an undone plan has ended before
		m.plans.WithLabelValues(policy, string(intent.Phase)).Inc()
		m.duration.WithLabelValues(policy, string(intent.Phase)).Observe(
			o.Now.Sub(rem.CreationTimestamp.Time).Seconds())
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
