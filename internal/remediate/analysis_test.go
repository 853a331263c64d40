// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
)

// analysed is a plan of one wave with two metrics: "errors" against a bound and
// "latency" against its baseline.
type analysed struct {
	*testing.T
	c     *Controller
	fake  *breakertest.Analyzer
	rem   *v1alpha1.Remediation
	state v1alpha1.TargetState
	now   time.Time
}

func newAnalysed(t *testing.T) *analysed {
	t.Helper()
	every := metav1.Duration{Duration: 30 * time.Second}
	rem := &v1alpha1.Remediation{
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{Policy: v1alpha1.PlannedPolicy{Name: "p"}, Waves: fixture.PlannedWaves(1),
				Rollout: v1alpha1.PlannedRollout{Metrics: []v1alpha1.PlannedMetric{
					{Name: "errors", Query: "errors", SuccessCondition: "sample < 0.05", Interval: every, Samples: 2},
					{Name: "latency", Query: "latency", SuccessCondition: "sample <= baseline * 2", Interval: every,
						Samples: 2},
				}}}}}
	fake := &breakertest.Analyzer{Answers: map[string]float64{"errors": 0.01, "latency": 1}}
	return &analysed{T: t, fake: fake, rem: rem, state: v1alpha1.TargetPending, now: breakertest.Noon,
		c: &Controller{analyzer: fake, metrics: newMetrics(prometheus.NewRegistry())}}
}

// pass is one pass of the controller after some time, which reads the status as
// a restarted controller would.
func (a *analysed) pass(phase v1alpha1.RemediationPhase, after time.Duration) rollout.Analysis {
	a.Helper()
	a.now = a.now.Add(after)
	raw, err := json.Marshal(a.rem.Status.Analysis)
	if err != nil {
		a.Fatal(err)
	}
	a.rem.Status.Analysis = nil
	if err := json.Unmarshal(raw, &a.rem.Status.Analysis); err != nil {
		a.Fatal(err)
	}
	a.rem.Status.Phase, a.fake.Asked = phase, nil
	o := rollout.Observation{Now: a.now, Spec: a.rem.Spec, Status: a.rem.Status,
		Targets: []rollout.TargetView{{State: a.state}}}
	got := a.c.analyse(context.Background(), a.rem, o)
	slices.Sort(a.fake.Asked)
	return got
}

func (a *analysed) require(got rollout.Analysis, verdict v1alpha1.AnalysisVerdict, asked string) {
	a.Helper()
	if got.Verdict != verdict || strings.Join(a.fake.Asked, " ") != asked {
		a.Errorf("got %s (%s) having asked %q; want %s, %q", got.Verdict, got.Message, a.fake.Asked, verdict, asked)
	}
}

// soak takes the plan to the soak of its wave, with baselines.
func (a *analysed) soak() {
	a.Helper()
	a.require(a.pass(v1alpha1.PhaseApplying, 0), v1alpha1.AnalysisRunning, "latency")
	a.state = v1alpha1.TargetVerified
	began := metav1.NewMicroTime(a.now.Add(time.Minute))
	a.rem.Status.HealthyTime = &began
}

func TestAWaveIsComparedWithWhatWasBeforeItsFirstWrite(t *testing.T) {
	a := newAnalysed(t)
	a.soak()
	if got := a.rem.Status.Analysis[1].Baseline; got != "1" {
		t.Errorf("got baseline %q", got)
	}
	a.fake.Answers["latency"] = 5
	a.require(a.pass(v1alpha1.PhaseApplying, 10*time.Minute), v1alpha1.AnalysisRunning, "")
	a.require(a.pass(v1alpha1.PhaseVerifying, time.Minute), v1alpha1.AnalysisRunning, "")
	a.require(a.pass(v1alpha1.PhaseSoaking, time.Minute), v1alpha1.AnalysisFailed, "errors latency")
}

func TestGoodSamplesOverTheSoakPass(t *testing.T) {
	a := newAnalysed(t)
	a.soak()
	got := a.pass(v1alpha1.PhaseSoaking, time.Minute)
	a.require(got, v1alpha1.AnalysisRunning, "errors latency")
	if got.Wait != 30*time.Second ||
		!strings.Contains(got.Message, "metric errors: sample 0.01 meets sample < 0.05, 1 of 2 in a row") {
		t.Errorf("got %+v", got)
	}
	got = a.pass(v1alpha1.PhaseSoaking, 10*time.Second)
	a.require(got, v1alpha1.AnalysisRunning, "")
	if got.Wait != 20*time.Second {
		t.Errorf("the next sample is due in %s, want 20s", got.Wait)
	}
	a.require(a.pass(v1alpha1.PhaseSoaking, 20*time.Second), v1alpha1.AnalysisPassed, "errors latency")
	for result, want := range map[string]float64{"Met": 4, "Baseline": 1, "Missed": 0, "Inconclusive": 0} {
		if got := testutil.ToFloat64(a.c.metrics.samples.WithLabelValues("p", result)); got != want {
			t.Errorf("%s: counted %v, want %v", result, got, want)
		}
	}
}

func TestASoakThatBeginsAnewKeepsTheBaselineOnly(t *testing.T) {
	a := newAnalysed(t)
	a.soak()
	a.pass(v1alpha1.PhaseSoaking, time.Minute)
	a.require(a.pass(v1alpha1.PhaseSoaking, 30*time.Second), v1alpha1.AnalysisPassed, "errors latency")
	again := metav1.NewMicroTime(a.now.Add(10 * time.Second))
	a.rem.Status.HealthyTime = &again
	a.require(a.pass(v1alpha1.PhaseSoaking, 10*time.Second), v1alpha1.AnalysisRunning, "")
	a.require(a.pass(v1alpha1.PhaseSoaking, 20*time.Second), v1alpha1.AnalysisRunning, "errors latency")
	if rec := a.rem.Status.Analysis[1]; rec.Passed != 1 || rec.Baseline != "1" {
		t.Errorf("got %+v", rec)
	}
}

func TestSilenceIsAskedAgainWhileHeld(t *testing.T) {
	a := newAnalysed(t)
	a.soak()
	delete(a.fake.Answers, "errors")
	got := a.pass(v1alpha1.PhaseSoaking, time.Minute)
	a.require(got, v1alpha1.AnalysisInconclusive, "errors latency")
	if got.Message != "metric errors: no data" {
		t.Errorf("got %q", got.Message)
	}
	a.rem.Status.HeldFrom, a.rem.Status.HealthyTime = v1alpha1.PhaseSoaking, nil
	a.require(a.pass(v1alpha1.PhaseHeld, 10*time.Second), v1alpha1.AnalysisInconclusive, "")
	a.fake.Answers["errors"] = 0.01
	a.require(a.pass(v1alpha1.PhaseHeld, 20*time.Second), v1alpha1.AnalysisRunning, "errors latency")
}

func TestNoWaveBeginsWithoutTheBaselineThatItNeeds(t *testing.T) {
	a := newAnalysed(t)
	for _, answer := range []*float64{nil, ptr(math.NaN()), ptr(math.Inf(1))} {
		delete(a.fake.Answers, "latency")
		if answer != nil {
			a.fake.Answers["latency"] = *answer
		}
		a.require(a.pass(v1alpha1.PhaseApplying, time.Minute), v1alpha1.AnalysisInconclusive, "latency")
	}
	a.fake.Answers["latency"] = 1
	a.rem.Status.HeldFrom = v1alpha1.PhaseApplying
	a.require(a.pass(v1alpha1.PhaseHeld, time.Second), v1alpha1.AnalysisInconclusive, "")
	a.require(a.pass(v1alpha1.PhaseHeld, time.Minute), v1alpha1.AnalysisRunning, "latency")
	a.require(a.pass(v1alpha1.PhaseApplying, time.Hour), v1alpha1.AnalysisRunning, "latency")
}

func TestAWaveOfARemovedRecordIsNeverPassed(t *testing.T) {
	a := newAnalysed(t)
	a.soak()
	a.rem.Status.Analysis = nil
	got := a.pass(v1alpha1.PhaseSoaking, time.Minute)
	a.require(got, v1alpha1.AnalysisInconclusive, "errors latency")
	if !strings.Contains(got.Message, "metric latency: there is no answer from before the wave") {
		t.Errorf("got %q", got.Message)
	}
}

func TestTheObservationShowsWhatIsPersistedOnly(t *testing.T) {
	a := newAnalysed(t)
	a.rem.Status.Phase = v1alpha1.PhaseApplying
	o := rollout.Observation{Now: breakertest.Noon, Spec: a.rem.Spec, Status: a.rem.Status,
		Targets: []rollout.TargetView{{State: v1alpha1.TargetPending}}}
	a.c.analyse(t.Context(), a.rem, o)
	if o.Status.Analysis != nil || len(a.rem.Status.Analysis) != 2 {
		t.Errorf("observed %v, to persist %v", o.Status.Analysis, a.rem.Status.Analysis)
	}
}

func TestWithoutAPrometheusTheFlagIsNamed(t *testing.T) {
	a := newAnalysed(t)
	a.c.analyzer = nil
	for _, phase := range []v1alpha1.RemediationPhase{v1alpha1.PhaseApplying, v1alpha1.PhaseSoaking} {
		got := a.pass(phase, time.Minute)
		a.require(got, v1alpha1.AnalysisInconclusive, "")
		if !strings.Contains(got.Message, "--prometheus-url") || got.Wait <= 0 {
			t.Errorf("got %+v", got)
		}
	}
}

func TestAStrategyWithoutMetricsAsksNothing(t *testing.T) {
	a := newAnalysed(t)
	a.rem.Spec.Plan.Rollout.Metrics, a.c.analyzer = nil, nil
	a.require(a.pass(v1alpha1.PhaseSoaking, time.Minute), "", "")
}

func ptr(f float64) *float64 { return &f }

func TestOnlyAPersonForgivesWhatMetricsSaidAgainstAWave(t *testing.T) {
	record := func() []v1alpha1.MetricRecord {
		return []v1alpha1.MetricRecord{
			{Name: "harmed", Baseline: "1", Failed: 2, Verdict: v1alpha1.AnalysisFailed, Message: "worse"},
			{Name: "silent", Baseline: "1", Failed: 1, Verdict: v1alpha1.AnalysisInconclusive, Message: "no data"},
		}
	}
	soaksAnew := record()
	resetAnalysis(soaksAnew, false)
	want := []v1alpha1.MetricRecord{record()[0], {Name: "silent", Baseline: "1", Failed: 1}}
	if diff := cmp.Diff(want, soaksAnew); diff != "" {
		t.Errorf("a soak that begins anew (-want +got):\n%s", diff)
	}
	retried := record()
	resetAnalysis(retried, true)
	want = []v1alpha1.MetricRecord{{Name: "harmed", Baseline: "1"}, {Name: "silent", Baseline: "1"}}
	if diff := cmp.Diff(want, retried); diff != "" {
		t.Errorf("a person's retry (-want +got):\n%s", diff)
	}
}

// The first answer after silence may be bad news. It must not be lost in the
// change from Held back to Soaking.
func TestHarmThatIsFirstSeenWhileHeldIsActedUpon(t *testing.T) {
	a := newAnalysed(t)
	a.soak()
	delete(a.fake.Answers, "errors")
	a.pass(v1alpha1.PhaseSoaking, time.Minute)
	a.rem.Status.HeldFrom, a.rem.Status.HealthyTime = v1alpha1.PhaseSoaking, nil
	a.fake.Answers["errors"] = 0.9
	a.require(a.pass(v1alpha1.PhaseHeld, time.Minute), v1alpha1.AnalysisFailed, "errors latency")
	resetAnalysis(a.rem.Status.Analysis, false)
	began := metav1.NewMicroTime(a.now)
	a.rem.Status.HealthyTime = &began
	a.require(a.pass(v1alpha1.PhaseSoaking, time.Second), v1alpha1.AnalysisFailed, "")
}
