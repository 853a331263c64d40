// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

var asked = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func metric(modify ...func(*v1alpha1.PlannedMetric)) v1alpha1.PlannedMetric {
	m := v1alpha1.PlannedMetric{Name: "errors", Query: "errors_ratio", SuccessCondition: "sample < 0.05",
		Interval: metav1.Duration{Duration: 30 * time.Second}, Samples: 3}
	for _, f := range modify {
		f(&m)
	}
	return m
}

func comparing(m *v1alpha1.PlannedMetric)       { m.SuccessCondition = "sample <= baseline * 2" }
func forgivingOne(m *v1alpha1.PlannedMetric)    { m.FailureLimit = 1 }
func brokenCondition(m *v1alpha1.PlannedMetric) { m.SuccessCondition = "sample <" }
func brokenQuery(m *v1alpha1.PlannedMetric)     { m.Query = "sum(" }
func answers(values ...float64) []MetricAnswer {
	out := make([]MetricAnswer, 0, len(values))
	for _, v := range values {
		out = append(out, MetricAnswer{Value: v})
	}
	return out
}

func noAnswer(problem string) MetricAnswer { return MetricAnswer{Problem: problem} }

func TestNextMetric(t *testing.T) {
	cases := map[string]struct {
		reason   string
		metric   v1alpha1.PlannedMetric
		baseline string
		answers  []MetricAnswer
		want     v1alpha1.MetricRecord
	}{
		"good samples in a row pass": {
			reason: "three were asked for", metric: metric(), answers: answers(0.01, 0.02, 0.03),
			want: v1alpha1.MetricRecord{Passed: 3, LastSample: "0.03", Verdict: v1alpha1.AnalysisPassed,
				Message: "sample 0.03 meets sample < 0.05, 3 of 3 in a row"}},
		"too few good samples are still running": {
			reason: "two of three", metric: metric(), answers: answers(0.01, 0.02),
			want: v1alpha1.MetricRecord{Passed: 2, LastSample: "0.02", Verdict: v1alpha1.AnalysisRunning,
				Message: "sample 0.02 meets sample < 0.05, 2 of 3 in a row"}},
		"the first miss fails the wave by default": {
			reason: "failureLimit is 0", metric: metric(), answers: answers(0.01, 0.5),
			want: v1alpha1.MetricRecord{Failed: 1, LastSample: "0.5", Verdict: v1alpha1.AnalysisFailed,
				Message: "sample 0.5 misses sample < 0.05, 1 missed and at most 0 may"}},
		"a failed metric stays failed": {
			reason: "harm that was seen isn't undone by luck", metric: metric(),
			answers: answers(0.5, 0.01, 0.01, 0.01),
			want: v1alpha1.MetricRecord{Failed: 1, LastSample: "0.5", Verdict: v1alpha1.AnalysisFailed,
				Message: "sample 0.5 misses sample < 0.05, 1 missed and at most 0 may"}},
		"a miss that is allowed begins the row anew": {
			reason: "one may miss, but three must follow", metric: metric(forgivingOne),
			answers: answers(0.01, 0.01, 0.5, 0.01),
			want: v1alpha1.MetricRecord{Passed: 1, Failed: 1, LastSample: "0.01", Verdict: v1alpha1.AnalysisRunning,
				Message: "sample 0.01 meets sample < 0.05, 1 of 3 in a row"}},
		"a miss after the pass counts while the soak goes on": {
			reason: "the row must hold to the end", metric: metric(), answers: answers(0.01, 0.01, 0.01, 0.5),
			want: v1alpha1.MetricRecord{Failed: 1, LastSample: "0.5", Verdict: v1alpha1.AnalysisFailed,
				Message: "sample 0.5 misses sample < 0.05, 1 missed and at most 0 may"}},
		"no answer is inconclusive and breaks the row": {
			reason: "no data is never a pass, nor a miss", metric: metric(),
			answers: append(answers(0.01, 0.01), noAnswer("no data")),
			want:    v1alpha1.MetricRecord{Verdict: v1alpha1.AnalysisInconclusive, Message: "no data"}},
		"the row begins anew after no answer": {
			reason: "it takes three again", metric: metric(),
			answers: append(answers(0.01, 0.01), noAnswer("no data"), MetricAnswer{Value: 0.01}),
			want: v1alpha1.MetricRecord{Passed: 1, LastSample: "0.01", Verdict: v1alpha1.AnalysisRunning,
				Message: "sample 0.01 meets sample < 0.05, 1 of 3 in a row"}},
		"no answer after a pass takes the pass back": {
			reason: "what was seen before says nothing of now", metric: metric(),
			answers: append(answers(0, 0, 0), noAnswer("no data")),
			want:    v1alpha1.MetricRecord{Verdict: v1alpha1.AnalysisInconclusive, Message: "no data"}},
		"NaN is inconclusive": {
			reason: "0/0 requests", metric: metric(), answers: answers(math.NaN()),
			want: v1alpha1.MetricRecord{Verdict: v1alpha1.AnalysisInconclusive,
				Message: "the sample NaN isn't a finite number"}},
		"a worse sample than the baseline allows fails": {
			reason: "more than twice of what it was", metric: metric(comparing), baseline: "0.1", answers: answers(0.3),
			want: v1alpha1.MetricRecord{Baseline: "0.1", Failed: 1, LastSample: "0.3", Verdict: v1alpha1.AnalysisFailed,
				Message: "sample 0.3, baseline 0.1, misses sample <= baseline * 2, 1 missed and at most 0 may"}},
		"a comparison without a baseline is inconclusive": {
			reason: "it can't be had any more", metric: metric(comparing), answers: answers(0.3),
			want: v1alpha1.MetricRecord{LastSample: "0.3", Verdict: v1alpha1.AnalysisInconclusive,
				Message: "there is no answer from before the wave to compare with, and there can be none any more: " +
					"abort the plan: evenkeel rollout abort"}},
		"a baseline that can't be read is inconclusive": {
			reason: "somebody has edited the status", metric: metric(comparing), baseline: "much",
			answers: answers(0.3),
			want: v1alpha1.MetricRecord{Baseline: "much", LastSample: "0.3", Verdict: v1alpha1.AnalysisInconclusive,
				Message: "there is no answer from before the wave to compare with, and there can be none any more: " +
					"abort the plan: evenkeel rollout abort"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rec := NewMetric(2, tc.metric)
			rec.Baseline = tc.baseline
			now := asked
			for _, a := range tc.answers {
				now = now.Add(30 * time.Second)
				rec = NextMetric(rec, tc.metric, a, now)
			}
			tc.want.Name, tc.want.Wave = "errors", 2
			if diff := cmp.Diff(tc.want, rec,
				cmpopts.IgnoreFields(v1alpha1.MetricRecord{}, "LastSampleTime")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAMetricThatGotPastAdmissionIsNeverAPass(t *testing.T) {
	for what, m := range map[string]v1alpha1.PlannedMetric{
		"successCondition": metric(brokenCondition), "query": metric(brokenQuery)} {
		rec := NewMetric(0, m)
		if rec.Verdict != v1alpha1.AnalysisInconclusive || !strings.Contains(rec.Message, what) {
			t.Errorf("%s: got %s, %q", what, rec.Verdict, rec.Message)
		}
	}
	for range 3 {
		if rec := NextMetric(NewMetric(0, metric(brokenCondition)), metric(brokenCondition), MetricAnswer{Value: 0},
			asked); rec.Verdict != v1alpha1.AnalysisInconclusive {
			t.Errorf("got %s", rec.Verdict)
		}
	}
}

func TestWithBaseline(t *testing.T) {
	taken := WithBaseline(1, metric(comparing), MetricAnswer{Value: 0.25}, asked)
	if taken.Baseline != "0.25" || taken.Verdict != v1alpha1.AnalysisRunning || taken.Wave != 1 ||
		!taken.LastSampleTime.Time.Equal(asked) {
		t.Errorf("got %+v", taken)
	}
	for why, answer := range map[string]MetricAnswer{
		"no data": noAnswer("no data"), "the answer NaN isn't a finite number": {Value: math.NaN()},
	} {
		rec := WithBaseline(1, metric(comparing), answer, asked)
		if rec.Verdict != v1alpha1.AnalysisInconclusive || rec.Baseline != "" || !strings.Contains(rec.Message, why) {
			t.Errorf("%s: got %+v", why, rec)
		}
	}
}

func TestBaselined(t *testing.T) {
	old := WithBaseline(1, metric(comparing), MetricAnswer{Value: 1}, asked.Add(-BaselineAge-time.Second))
	fresh := WithBaseline(1, metric(comparing), MetricAnswer{Value: 1}, asked.Add(-BaselineAge))
	cases := map[string]struct {
		reason  string
		metric  v1alpha1.PlannedMetric
		records []v1alpha1.MetricRecord
		want    bool
	}{
		"nothing was asked":                       {"the wave can't begin", metric(comparing), nil, false},
		"a condition without baseline needs none": {"it compares with a bound", metric(), nil, true},
		"a broken condition needs none": {"it holds the wave by its verdict", metric(brokenCondition), nil,
			true},
		"a fresh baseline serves": {
			"just before the wave", metric(comparing), []v1alpha1.MetricRecord{fresh}, true},
		"an old baseline doesn't": {"the wave was held for long", metric(comparing),
			[]v1alpha1.MetricRecord{old}, false},
		"another wave's doesn't": {"each wave compares with what was before it", metric(comparing),
			[]v1alpha1.MetricRecord{WithBaseline(0, metric(comparing), MetricAnswer{Value: 1}, asked)}, false},
		"one without an answer doesn't": {
			"no data before", metric(comparing),
			[]v1alpha1.MetricRecord{WithBaseline(1, metric(comparing), noAnswer("no data"), asked)}, false},
		"one from the future doesn't": {
			"the clock was set back", metric(comparing),
			[]v1alpha1.MetricRecord{WithBaseline(1, metric(comparing), MetricAnswer{Value: 1}, asked.Add(time.Hour))},
			false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Baselined([]v1alpha1.PlannedMetric{tc.metric}, tc.records, 1, asked); got != tc.want {
				t.Errorf("%s: got %v", tc.reason, got)
			}
		})
	}
}

func TestSinceSoak(t *testing.T) {
	before, during := asked.Add(-time.Minute), asked.Add(time.Minute)
	rec := NextMetric(NewMetric(1, metric(comparing, forgivingOne)), metric(forgivingOne), MetricAnswer{Value: 0.5},
		before)
	rec = NextMetric(rec, metric(forgivingOne), MetricAnswer{Value: 0.01}, before)
	rec.Baseline = "0.2"
	if got := SinceSoak(rec, asked); got.Passed != 0 || got.Failed != 1 || got.Baseline != "0.2" ||
		got.Verdict != v1alpha1.AnalysisRunning {
		t.Errorf("a sample from before the soak: got %+v, want the row anew, the misses and the baseline kept", got)
	}
	rec.LastSampleTime = circuit.MicroTime(during)
	if diff := cmp.Diff(rec, SinceSoak(rec, asked)); diff != "" {
		t.Errorf("a sample of this soak counts (-want +got):\n%s", diff)
	}
	failed := NextMetric(rec, metric(), MetricAnswer{Value: 1}, before)
	if got := SinceSoak(failed, asked); got.Verdict != v1alpha1.AnalysisFailed {
		t.Errorf("a failure from before the soak: got %s", got.Verdict)
	}
}

func TestDueIn(t *testing.T) {
	rec := v1alpha1.MetricRecord{}
	if got := DueIn(rec, metric(), asked); got != 0 {
		t.Errorf("never asked: got %s", got)
	}
	rec.LastSampleTime = circuit.MicroTime(asked.Add(-10 * time.Second))
	if got := DueIn(rec, metric(), asked); got != 20*time.Second {
		t.Errorf("asked 10s ago: got %s", got)
	}
	if got := DueIn(rec, metric(), asked.Add(time.Hour)); got != 0 {
		t.Errorf("long overdue: got %s", got)
	}
	if got := DueIn(rec, metric(), asked.Add(-time.Hour)); got != 0 {
		t.Errorf("asked in the future: got %s", got)
	}
	if got := DueIn(rec, v1alpha1.PlannedMetric{}, asked); got != v1alpha1.DefaultAnalysisInterval-10*time.Second {
		t.Errorf("an unset interval: got %s", got)
	}
}

func TestMetricsVerdict(t *testing.T) {
	cases := map[string]struct {
		reason   string
		verdicts []v1alpha1.AnalysisVerdict
		want     v1alpha1.AnalysisVerdict
		decides  string
	}{
		"all passed": {"nothing else is a pass", []v1alpha1.AnalysisVerdict{"Passed", "Passed"}, "Passed",
			"metric a"},
		"one still runs": {"all must pass", []v1alpha1.AnalysisVerdict{"Passed", "Running"}, "Running",
			"metric b"},
		"one says nothing": {"never a pass", []v1alpha1.AnalysisVerdict{"Running", "Inconclusive", "Passed"},
			"Inconclusive", "metric b"},
		"one failed": {"harm outweighs silence",
			[]v1alpha1.AnalysisVerdict{"Inconclusive", "Passed", "Failed"}, "Failed", "metric c"},
		"one begins anew": {"an empty verdict was cleared for another try",
			[]v1alpha1.AnalysisVerdict{"Passed", ""}, "Running", "metric b"},
		"one verdict is unknown": {"a newer version wrote it", []v1alpha1.AnalysisVerdict{"Running", "Superb"},
			"Inconclusive", "metric b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var metrics []v1alpha1.PlannedMetric
			var records []v1alpha1.MetricRecord
			for i, v := range tc.verdicts {
				m := metric(func(m *v1alpha1.PlannedMetric) { m.Name = string(rune('a' + i)) })
				metrics = append(metrics, m)
				records = append(records, v1alpha1.MetricRecord{Name: m.Name, Wave: 1, Verdict: v})
			}
			got, message := MetricsVerdict(metrics, records, 1)
			if got != tc.want || !strings.HasPrefix(message, tc.decides) {
				t.Errorf("%s: got %s, %q", tc.reason, got, message)
			}
			if got, _ := MetricsVerdict(metrics, records, 2); got != v1alpha1.AnalysisInconclusive {
				t.Errorf("records of another wave: got %s", got)
			}
		})
	}
}

func TestBeforeWave(t *testing.T) {
	bound, compared := metric(), metric(comparing)
	fresh := WithBaseline(1, compared, MetricAnswer{Value: 1}, asked.Add(-time.Minute))
	old := WithBaseline(1, compared, MetricAnswer{Value: 1}, asked.Add(-time.Hour))
	silent := WithBaseline(1, compared, noAnswer("no data"), asked.Add(-time.Minute))
	justSilent := WithBaseline(1, compared, noAnswer("no data"), asked.Add(-time.Second))
	hushed := NextMetric(fresh, compared, noAnswer("no data"), asked.Add(-time.Second))
	boundSilent := NextMetric(NewMetric(1, bound), bound, noAnswer("no data"), asked)
	cases := map[string]struct {
		reason string
		metric v1alpha1.PlannedMetric
		found  *v1alpha1.MetricRecord
		want   v1alpha1.MetricRecord
		ask    bool
	}{
		"a condition with a baseline asks for it": {"before the first write", compared, nil, NewMetric(1, compared),
			true},
		"a condition without one asks nothing": {"there is nothing to compare with", bound, nil,
			NewMetric(1, bound), false},
		"a fresh baseline is kept": {"a restart asks no second time", compared, &fresh, fresh,
			false},
		"an old baseline is taken anew":              {"the wave was held", compared, &old, old, true},
		"an answer that said nothing is asked again": {"after the interval", compared, &silent, silent, true},
		"but not at once": {"the interval hasn't passed", compared, &justSilent, justSilent,
			false},
		"silence in an earlier soak of the wave ends": {"the rest of the wave begins with a new baseline", compared,
			&hushed, hushed, true},
		"and without a baseline it is a new record": {"nothing else would ever end it", bound, &boundSilent,
			NewMetric(1, bound), false},
		"a broken condition stays inconclusive": {
			"never a pass", metric(brokenCondition), nil, NewMetric(1, metric(brokenCondition)), false},
		"a query that can't be asked isn't": {"never a pass", metric(comparing, brokenQuery), nil,
			NewMetric(1, metric(comparing, brokenQuery)), false},
		"another wave's record is no record": {
			"each wave begins its own", compared,
			&v1alpha1.MetricRecord{Name: "errors", Wave: 0, Baseline: "1", Verdict: "Passed"}, NewMetric(1, compared),
			true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var records []v1alpha1.MetricRecord
			if tc.found != nil {
				records = append(records, *tc.found)
			}
			got, ask := BeforeWave(records, tc.metric, 1, asked)
			if diff := cmp.Diff(tc.want, got); diff != "" || ask != tc.ask {
				t.Errorf("%s: ask %v, want %v; record (-want +got):\n%s", tc.reason, ask, tc.ask, diff)
			}
		})
	}
}

func TestInSoak(t *testing.T) {
	m := metric()
	rec := NextMetric(NewMetric(1, m), m, MetricAnswer{Value: 0.01}, asked)
	failed := NextMetric(rec, m, MetricAnswer{Value: 1}, asked)
	if got, ask := InSoak([]v1alpha1.MetricRecord{rec}, m, 1, asked.Add(-time.Minute),
		asked.Add(29*time.Second)); ask || got.Passed != 1 {
		t.Errorf("before the interval has passed: ask %v, %+v", ask, got)
	}
	if got, ask := InSoak([]v1alpha1.MetricRecord{rec}, m, 1, asked.Add(-time.Minute),
		asked.Add(30*time.Second)); !ask || got.Passed != 1 {
		t.Errorf("after the interval: ask %v, %+v", ask, got)
	}
	if got, ask := InSoak([]v1alpha1.MetricRecord{rec}, m, 1, asked.Add(time.Second), asked.Add(2*time.Second)); ask ||
		got.Passed != 0 {
		t.Errorf("in a new soak: ask %v, %+v", ask, got)
	}
	if got, ask := InSoak(nil, m, 1, asked, asked); !ask || got.Wave != 1 {
		t.Errorf("without a record: ask %v, %+v", ask, got)
	}
	if got, ask := InSoak([]v1alpha1.MetricRecord{failed}, m, 1, asked, asked.Add(time.Hour)); ask ||
		got.Verdict != v1alpha1.AnalysisFailed {
		t.Errorf("a failed metric: ask %v, %+v", ask, got)
	}
}
