// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// BaselineAge is how old a baseline may be when a wave's first write begins: a
	// wave that was held for hours compares with what was just before it.
	BaselineAge = 5 * time.Minute
	// metricMessage is the longest message of a record, in characters, as in the API.
	metricMessage = 512
)

// MetricAnswer is what a provider said to a metric's query.
type MetricAnswer struct {
	// Value is the only sample.
	Value float64
	// Problem says why there is no such sample; empty when there is.
	Problem string
}

// baseline is the answer from before the wave, or why there is none.
func (a MetricAnswer) baseline() (value, problem string) {
	switch {
	case a.Problem != "":
		return "", a.Problem
	case !finite(a.Value):
		return "", fmt.Sprintf("the answer %s %v", Number(a.Value), errNoNumber)
	default:
		return Number(a.Value), ""
	}
}

// NewMetric starts a metric's record for a wave, without a baseline. A metric
// that got past admission though it can't be asked or judged is Inconclusive from
// the start, so that the wave isn't begun.
func NewMetric(wave int32, metric v1alpha1.PlannedMetric) v1alpha1.MetricRecord {
	rec := v1alpha1.MetricRecord{Name: metric.Name, Wave: wave, Verdict: v1alpha1.AnalysisRunning,
		Message: "no sample yet"}
	if err := CheckQuery(metric.Query); err != nil {
		return inconclusive(rec, fmt.Sprintf("query %v", err))
	}
	if err := CheckCondition(metric.SuccessCondition); err != nil {
		return inconclusive(rec, fmt.Sprintf("successCondition %v", err))
	}
	return rec
}

// WithBaseline is a wave's new record of a metric with the answer from before the
// wave's first write. Without one the verdict is Inconclusive: what the wave does
// could never be judged.
func WithBaseline(wave int32, metric v1alpha1.PlannedMetric, answer MetricAnswer,
	now time.Time) v1alpha1.MetricRecord {
	rec := NewMetric(wave, metric)
	rec.LastSampleTime = sampled(now)
	value, problem := answer.baseline()
	if problem != "" {
		return inconclusive(rec, "no baseline, so the wave isn't begun: "+problem)
	}
	rec.Baseline, rec.LastSample = value, value
	rec.Message = "the baseline is " + value
	return rec
}

// SinceSoak is the record as a soak takes it over that began at the given time:
// samples from before it count no longer as passed. What was missed stays missed.
func SinceSoak(rec v1alpha1.MetricRecord, began time.Time) v1alpha1.MetricRecord {
	before := rec.LastSampleTime == nil || rec.LastSampleTime.Time.Before(began)
	if before && (rec.Verdict == v1alpha1.AnalysisPassed || rec.Passed > 0) {
		rec.Passed, rec.Verdict, rec.Message = 0, v1alpha1.AnalysisRunning,
			"the soak has restarted, and the samples with it"
	}
	return rec
}

// NextMetric is the record after one more answer. It is Passed once the latest
// samples in a row that meet the condition are enough, and only while no answer
// breaks the row; Failed, for good, once more samples than the limit have missed
// it. An answer that isn't one finite number is Inconclusive: it counts neither
// as met nor as missed, and breaks the row.
func NextMetric(rec v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric, answer MetricAnswer,
	now time.Time) v1alpha1.MetricRecord {
	if rec.Verdict == v1alpha1.AnalysisFailed {
		return rec
	}
	rec.LastSampleTime, rec.LastSample = sampled(now), ""
	if answer.Problem != "" {
		return inconclusive(rec, answer.Problem)
	}
	if finite(answer.Value) {
		rec.LastSample = Number(answer.Value)
	}
	met, problem := judge(rec, metric, answer.Value)
	switch {
	case problem != "":
		return inconclusive(rec, problem)
	case met:
		return hit(rec, metric)
	default:
		return miss(rec, metric)
	}
}

// judge says whether a sample meets the metric's condition, or why that can't be said.
func judge(rec v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric, sample float64) (met bool, problem string) {
	condition, err := ParseCondition(metric.SuccessCondition)
	if err != nil {
		return false, fmt.Sprintf("successCondition %v", err)
	}
	var baseline float64
	if condition.NeedsBaseline() {
		if baseline, err = strconv.ParseFloat(rec.Baseline, 64); err != nil {
			return false, "there is no answer from before the wave to compare with, and there can be none any more: " +
				"abort the plan: evenkeel rollout abort"
		}
	}
	if met, err = condition.Met(sample, baseline); err != nil {
		return false, err.Error()
	}
	return met, ""
}

func hit(rec v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric) v1alpha1.MetricRecord {
	need := samples(metric)
	rec.Passed = min(rec.Passed+1, need)
	rec.Verdict = v1alpha1.AnalysisRunning
	if rec.Passed == need {
		rec.Verdict = v1alpha1.AnalysisPassed
	}
	rec.Message = prose.ShortenCharacters(
		fmt.Sprintf("%s meets %s, %d of %d in a row", values(rec), metric.SuccessCondition, rec.Passed, need),
		metricMessage)
	return rec
}

func miss(rec v1alpha1.MetricRecord, metric v1alpha1.PlannedMetric) v1alpha1.MetricRecord {
	rec.Passed, rec.Failed = 0, rec.Failed+1
	rec.Verdict = v1alpha1.AnalysisRunning
	if rec.Failed > metric.FailureLimit {
		rec.Verdict = v1alpha1.AnalysisFailed
	}
	rec.Message = prose.ShortenCharacters(
		fmt.Sprintf("%s misses %s, %d missed and at most %d may", values(rec), metric.SuccessCondition, rec.Failed,
			metric.FailureLimit), metricMessage)
	return rec
}

func inconclusive(rec v1alpha1.MetricRecord, problem string) v1alpha1.MetricRecord {
	rec.Passed, rec.Verdict, rec.Message = 0, v1alpha1.AnalysisInconclusive,
		prose.ShortenCharacters(problem, metricMessage)
	return rec
}

// values tells a record's numbers to people.
func values(rec v1alpha1.MetricRecord) string {
	if rec.Baseline == "" {
		return "sample " + rec.LastSample
	}
	return fmt.Sprintf("sample %s, baseline %s,", rec.LastSample, rec.Baseline)
}

func sampled(at time.Time) *metav1.MicroTime {
	t := metav1.NewMicroTime(at)
	return &t
}
