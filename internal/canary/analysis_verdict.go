// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// DueIn is how long until the metric's next sample is due; zero means now. A
// sample from the future, after the clock was set back, is no reason to wait.
func DueIn(rec v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric, now time.Time) time.Duration {
	if rec.LastSampleTime == nil || rec.LastSampleTime.After(now) {
		return 0
	}
	return max(rec.LastSampleTime.Add(interval(metric)).Sub(now), 0)
}

// BeforeWave is a metric's record while nothing of the wave is under way, and
// whether the metric must be asked now for its baseline. An answer that gave none
// is asked for again after the metric's interval.
func BeforeWave(records []v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric, wave int32, now time.Time) (
	rec v1alpha1.MetricRecord, ask bool) {
	found := RecordOf(records, metric.Name, wave)
	silent := found != nil && found.Verdict == v1alpha1.AnalysisInconclusive
	switch {
	case found == nil:
		rec = NewMetric(wave, metric)
		return rec, rec.Verdict == v1alpha1.AnalysisRunning && baselineDue(metric, nil, now)
	case silent && !comparesWithBaseline(metric):
		return NewMetric(wave, metric), false
	case silent || baselineDue(metric, found, now):
		return *found, found.Baseline != "" || DueIn(*found, metric, now) == 0
	default:
		return *found, false
	}
}

// InSoak is a metric's record while the wave soaks, or would if its metrics
// answered, and whether the metric must be asked now. The soak began at the given
// time; zero when it is interrupted.
func InSoak(records []v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric, wave int32, began, now time.Time) (
	rec v1alpha1.MetricRecord, ask bool) {
	if found := RecordOf(records, metric.Name, wave); found != nil {
		rec = SinceSoak(*found, began)
	} else {
		rec = NewMetric(wave, metric)
	}
	return rec, rec.Verdict != v1alpha1.AnalysisFailed && DueIn(rec, metric, now) == 0
}

// Baselined says whether every metric whose condition looks at its baseline has
// one for this wave that is recent enough for the wave to begin.
func Baselined(metrics []v1alpha1.PlannedMetric, records []v1alpha1.MetricRecord, wave int32, now time.Time) bool {
	return !slices.ContainsFunc(metrics, func(m v1alpha1.PlannedMetric) bool {
		return baselineDue(m, RecordOf(records, m.Name, wave), now)
	})
}

// baselineDue says whether a metric lacks a recent baseline that its condition
// looks at.
func baselineDue(metric v1alpha1.PlannedMetric, rec *v1alpha1.MetricRecord, now time.Time) bool {
	if rec != nil && rec.Baseline != "" && rec.LastSampleTime != nil {
		if age := now.Sub(rec.LastSampleTime.Time); age >= 0 && age <= BaselineAge {
			return false // without having compiled the condition, for this is asked in each step
		}
	}
	return comparesWithBaseline(metric)
}

// comparesWithBaseline says whether the metric's condition looks at its baseline.
// One that can't be read doesn't: it is Inconclusive by itself.
func comparesWithBaseline(metric v1alpha1.PlannedMetric) bool {
	condition, err := ParseCondition(metric.SuccessCondition)
	return err == nil && condition.NeedsBaseline()
}

// RecordOf is a metric's record of the wave; nil when there is none.
func RecordOf(records []v1alpha1.MetricRecord, name string, wave int32) *v1alpha1.MetricRecord {
	for i := range records {
		if records[i].Name == name && records[i].Wave == wave {
			return &records[i]
		}
	}
	return nil
}

// MetricsVerdict is what all metrics together say of a wave, with the metric that
// decides it: Failed before Inconclusive before Running before Passed. A metric
// without a record is Inconclusive.
func MetricsVerdict(metrics []v1alpha1.PlannedMetric, records []v1alpha1.MetricRecord, wave int32) (
	v1alpha1.AnalysisVerdict, string) {
	worst, message := v1alpha1.AnalysisVerdict(""), ""
	for _, m := range metrics {
		rec := RecordOf(records, m.Name, wave)
		if rec == nil {
			rec = &v1alpha1.MetricRecord{Name: m.Name, Verdict: v1alpha1.AnalysisInconclusive, Message: "not asked yet"}
		}
		verdict := known(rec.Verdict)
		if weight(verdict) > weight(worst) {
			worst, message = verdict, "metric "+m.Name+": "+rec.Message
		}
	}
	return worst, message
}

// known reads a record's verdict: empty is one that begins anew, and one that
// isn't known says nothing.
func known(v v1alpha1.AnalysisVerdict) v1alpha1.AnalysisVerdict {
	switch {
	case v == "":
		return v1alpha1.AnalysisRunning
	case weight(v) == 0:
		return v1alpha1.AnalysisInconclusive
	default:
		return v
	}
}

// weight orders verdicts; 0 is none.
func weight(v v1alpha1.AnalysisVerdict) int {
	return 1 + slices.Index([]v1alpha1.AnalysisVerdict{v1alpha1.AnalysisPassed, v1alpha1.AnalysisRunning,
		v1alpha1.AnalysisInconclusive, v1alpha1.AnalysisFailed}, v)
}

func interval(m v1alpha1.PlannedMetric) time.Duration {
	if m.Interval.Duration > 0 {
		return m.Interval.Duration
	}
	return v1alpha1.DefaultAnalysisInterval
}

func samples(m v1alpha1.PlannedMetric) int32 {
	if m.Samples > 0 {
		return m.Samples
	}
	return v1alpha1.DefaultAnalysisSamples
}
