// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// TestAnalysisKeepsItsRules folds any answers over any intervals and compares
// each record with what the answers so far allow. At every step the controller
// may restart: the record is written and read back.
func TestAnalysisKeepsItsRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := metric(func(m *v1alpha1.PlannedMetric) {
			m.Samples = rapid.Int32Range(1, 5).Draw(t, "samples")
			m.FailureLimit = rapid.Int32Range(0, 3).Draw(t, "failureLimit")
		})
		var row, missed int32 // what the answers so far say
		rec, now, silent := NewMetric(0, m), asked, false
		for range rapid.IntRange(0, 30).Draw(t, "answers") {
			now = now.Add(time.Duration(rapid.IntRange(1, 100).Draw(t, "seconds")) * time.Second)
			answer := drawAnswer().Draw(t, "answer")
			before := rec
			rec = reread(t, NextMetric(rec, m, answer, now))
			if before.Verdict == v1alpha1.AnalysisFailed {
				if diff := cmp.Diff(before, rec); diff != "" {
					t.Fatalf("a failed metric changed:\n%s", diff)
				}
				continue
			}
			silent = answer.Problem != "" || !finite(answer.Value)
			switch {
			case silent:
				row = 0
			case answer.Value < 0.05:
				row++
			default:
				row, missed = 0, missed+1
			}
			if want := allowed(m, row, missed, silent); rec.Verdict != want {
				t.Fatalf("%d in a row, %d missed, silent %v: got %s, want %s", row, missed, silent, rec.Verdict, want)
			}
			if rec.Failed != missed || rec.Message == "" || rec.LastSampleTime == nil ||
				!rec.LastSampleTime.Time.Equal(now) {
				t.Fatalf("%d missed: got %+v", missed, rec)
			}
		}
	})
}

// allowed is the verdict by the rules themselves.
func allowed(m v1alpha1.PlannedMetric, row, missed int32, silent bool) v1alpha1.AnalysisVerdict {
	switch {
	case missed > m.FailureLimit:
		return v1alpha1.AnalysisFailed
	case silent:
		return v1alpha1.AnalysisInconclusive
	case row >= m.Samples:
		return v1alpha1.AnalysisPassed
	default:
		return v1alpha1.AnalysisRunning
	}
}

// A wave passes only when every metric does, whatever the others say.
func TestAWavePassesOnlyWithEveryMetric(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var metrics []v1alpha1.PlannedMetric
		var records []v1alpha1.MetricRecord
		all := true
		for i := range rapid.IntRange(1, 5).Draw(t, "metrics") {
			m := metric(func(m *v1alpha1.PlannedMetric) { m.Name = string(rune('a' + i)) })
			metrics = append(metrics, m)
			rec := NewMetric(3, m)
			for range rapid.IntRange(0, 6).Draw(t, "answers") {
				rec = NextMetric(rec, m, drawAnswer().Draw(t, "answer"), asked)
			}
			all = all && rec.Verdict == v1alpha1.AnalysisPassed
			if rapid.IntRange(0, 9).Draw(t, "lost") == 0 {
				all = false
				continue
			}
			records = append(records, rec)
		}
		if got, why := MetricsVerdict(metrics, records, 3); (got == v1alpha1.AnalysisPassed) != all || why == "" {
			t.Fatalf("got %s (%s), all passed: %v", got, why, all)
		}
	})
}

func drawAnswer() *rapid.Generator[MetricAnswer] {
	return rapid.SampledFrom(
		[]MetricAnswer{{Value: 0.01}, {Value: 0.01}, {Value: 0.01}, {Value: 0.2}, {Value: math.NaN()},
			{Value: math.Inf(-1)}, {Problem: "no data"}, {Problem: "3 series"}, {Value: 0.01, Problem: "timeout"}})
}

func reread(t *rapid.T, rec v1alpha1.MetricRecord) v1alpha1.MetricRecord {
	raw, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	var out v1alpha1.MetricRecord
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
