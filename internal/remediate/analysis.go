// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// noProvider: the strategy names metrics, and nobody can be asked for them.
const noProvider = "the strategy names metrics, but the manager knows no Prometheus: start it with --prometheus-url, " +
	"or remove analysis from the strategy"

// analyse asks the metrics that are due, puts their records into rem's status,
// which is persisted at the end of the step, and says what they say together.
// They are asked for a baseline while nothing of the wave is under way, and for
// samples while it soaks, or is held because they gave no answer. The
// observation's status stays as it was read: what isn't persisted yet is no
// baseline. A crash in between only asks again.
func (c *Controller) analyse(ctx context.Context, rem *v1alpha1.Remediation, o rollout.Observation) rollout.Analysis {
	metrics := rem.Spec.Plan.Rollout.Metrics
	if len(metrics) == 0 {
		return rollout.Analysis{}
	}
	if c.analyzer == nil {
		return rollout.Analysis{Verdict: v1alpha1.AnalysisInconclusive, Message: noProvider,
			Wait: v1alpha1.DefaultAnalysisInterval}
	}
	ask := c.question(rem, o)
	if ask == nil {
		return verdict(metrics, rem.Status.Analysis, o)
	}
	records := make([]v1alpha1.MetricRecord, len(metrics))
	execute.InParallel(len(records), execute.MaxParallel, func(i int) { records[i] = ask(ctx, metrics[i]) })
	rem.Status.Analysis = records
	return verdict(metrics, records, o)
}

func verdict(metrics []v1alpha1.PlannedMetric, records []v1alpha1.MetricRecord,
	o rollout.Observation) rollout.Analysis {
	var a rollout.Analysis
	a.Verdict, a.Message = canary.MetricsVerdict(metrics, records, o.Status.Wave)
	first := true
	for _, m := range metrics {
		rec := canary.RecordOf(records, m.Name, o.Status.Wave)
		if rec == nil {
			continue
		}
		if due := canary.DueIn(*rec, m, o.Now); first || due < a.Wait {
			a.Wait, first = due, false
		}
	}
	return a
}

// question is what a metric is asked now and how its record goes on; nil when
// the phase asks nothing.
func (c *Controller) question(rem *v1alpha1.Remediation, o rollout.Observation) func(
	context.Context, v1alpha1.PlannedMetric) v1alpha1.MetricRecord {
	s := &o.Status
	at := s.Phase
	if at.Facts().Holds {
		at = s.HeldFrom
	}
	m := o.Members(s.Wave)
	switch {
	case at.Facts().Writes && m.Pending() && !m.Written() && len(m.Intents) == 0:
		return func(ctx context.Context, metric v1alpha1.PlannedMetric) v1alpha1.MetricRecord {
			rec, due := canary.BeforeWave(s.Analysis, metric, s.Wave, o.Now)
			if due {
				rec = canary.WithBaseline(s.Wave, metric, c.sample(ctx, metric), o.Now)
				c.metrics.sampled(rem, v1alpha1.MetricRecord{}, rec)
			}
			return rec
		}
	case at == v1alpha1.PhaseSoaking:
		var began time.Time
		if s.HealthyTime != nil {
			began = s.HealthyTime.Time
		}
		return func(ctx context.Context, metric v1alpha1.PlannedMetric) v1alpha1.MetricRecord {
			rec, due := canary.InSoak(s.Analysis, metric, s.Wave, began, o.Now)
			if due {
				before := rec
				rec = canary.NextMetric(rec, metric, c.sample(ctx, metric), o.Now)
				c.metrics.sampled(rem, before, rec)
			}
			return rec
		}
	default:
		return nil
	}
}

func (c *Controller) sample(ctx context.Context, metric v1alpha1.PlannedMetric) canary.MetricAnswer {
	value, err := c.analyzer.Sample(ctx, metric.Query)
	if err != nil {
		return canary.MetricAnswer{Problem: err.Error()}
	}
	return canary.MetricAnswer{Value: value}
}

// resetAnalysis forgets what metrics have said for a wave, but not how things stood
// before its first write. What they have said against it is forgiven by a person
// only, who asks to verify the wave once more.
func resetAnalysis(records []v1alpha1.MetricRecord, forgive bool) {
	for i := range records {
		rec := &records[i]
		if forgive {
			rec.Failed = 0
		} else if rec.Verdict == v1alpha1.AnalysisFailed {
			continue
		}
		rec.Passed, rec.Verdict, rec.Message = 0, "", ""
	}
}
