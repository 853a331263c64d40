// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func held(from v1alpha1.RemediationPhase, targets ...TargetView) Observation {
	o := situation(v1alpha1.PhaseHeld, 1, targets...)
	o.Status.HeldFrom, o.Status.Reason, o.Status.Message = from, "Before", "as it was"
	return o
}

func TestStepHeldBeforeAndBetweenWrites(t *testing.T) {
	closed := func(o *Observation) {
		o.Gate = Gate{Closed: true, Reason: v1alpha1.ReasonPaused, Message: "ada has paused it"}
	}
	ends := func(left time.Duration) func(*Observation) {
		return func(o *Observation) {
			closed(o)
			o.Spec.DesiredState, o.Spec.PausedUntilTime = v1alpha1.StatePaused, &metav1.Time{Time: o.Now.Add(left)}
		}
	}
	aborted := func(o *Observation) { o.Abort, o.Stop = "ada ends it", "the policy has changed" }
	stopped := func(o *Observation) { o.Stop = "the policy has changed" }
	planned, applying := v1alpha1.PhasePlanned, v1alpha1.PhaseApplying
	runSteps(t, map[string]step{
		"before all: the gate is closed": {
			reason: "it is held on", in: held(planned, target(0, pending)),
			given: closed, want: "Held w1 Paused: ada has paused it | from Planned | wait 5s"},
		"before all: a pause ends before the next look": {
			reason: "it goes on at that time", in: held(planned, target(0, pending)),
			given: ends(2 * time.Second), want: "Held w1 Paused: ada has paused it | from Planned | wait 2s"},
		"before all: a pause ends after many looks": {
			reason: "somebody may resume it before", in: held(planned, target(0, pending)),
			given: ends(time.Hour), want: "Held w1 Paused: ada has paused it | from Planned | wait 5s"},
		"before all: the gate is closed otherwise, and a pause has ended": {
			reason: "its end says nothing of the gate", in: held(planned, target(0, pending)),
			given: ends(-2 * time.Second), want: "Held w1 Paused: ada has paused it | from Planned | wait 5s"},
		"before all: the gate opens": {
			reason: "an approval that is gone is asked for again", in: held(planned, target(0, pending)),
			want: "Planned w1 WaveInProgress: the hold has ended; going on with wave 1 of 2"},
		"before all: a person ends it": {
			reason: "nothing was written", in: held(planned, target(0, pending)),
			given: aborted, want: "Aborted w1 Aborted: ada ends it | mark 0 Skipped NotAttempted: ada ends it"},
		"before all: its policy changes": {
			reason: "nothing was written", in: held(planned, target(0, pending)),
			given: stopped,
			want: "Superseded w1 PolicyChanged: the policy has changed | mark 0 Skipped NotAttempted: the policy has " +
				"changed"},
		"between writes: the gate is closed": {
			reason: "it is held on", in: held(applying, target(0, done), target(1, pending)),
			given: closed, want: "Held w1 Paused: ada has paused it | from Applying | wait 5s"},
		"between writes: the gate opens": {
			reason: "it goes on", in: held(applying, target(0, done), target(1, pending)),
			want: "Applying w1 WaveInProgress: the hold has ended; going on with wave 1 of 2"},
		"between writes: a person ends it": {
			reason: "earlier waves stay", in: held(applying, target(0, done), target(1, pending)),
			given: aborted, want: "Aborted w1 Aborted: ada ends it | mark 1 Skipped NotAttempted: ada ends it"},
		"between writes: its policy changes": {
			reason: "nothing more is begun", in: held(applying, target(0, done), target(1, pending)),
			given: stopped,
			want: "Superseded w1 PolicyChanged: the policy has changed | mark 1 Skipped NotAttempted: the policy has " +
				"changed"},
		"between writes: a write has arrived after all": {
			reason: "it is verified, though the policy has changed", in: held(applying, target(1, written)),
			given: stopped, want: "Applying w1 WaveInProgress: the hold has ended; going on with wave 1 of 2"},
		"between writes: a write may have arrived": {
			reason: "it is found out about", in: held(applying, target(1, intended)),
			given: closed, want: "Applying w1 WaveInProgress: the hold has ended; going on with wave 1 of 2"},
		"between writes: a breaker closes again": {
			reason: "one namespace may still be kept back",
			in:     held(applying, target(1, pending, barred("", "open")), target(1, pending, in("cart"))),
			want:   "Applying w1 WaveInProgress: the hold has ended; going on with wave 1 of 2"},
	})
}

func TestStepHeldAfterFailure(t *testing.T) {
	asks := func(token string) func(*Observation) {
		return func(o *Observation) {
			o.Spec.RetryToken, o.Status.LastHandledRetryToken = token, "1"
			o.Requests = []v1alpha1.RequestRecord{{Action: v1alpha1.ActionRetry, Token: "2", User: "ada"}}
		}
	}
	runSteps(t, map[string]step{
		"nobody has decided": {
			reason: "nothing is undone", in: held(v1alpha1.PhaseVerifying, target(1, written)),
			want: "Held w1 Before: as it was | from Verifying | wait 5s"},
		"a person ends it": {
			reason: "the wave is undone", in: held(v1alpha1.PhaseVerifying, target(1, written)),
			given: func(o *Observation) { o.Abort, o.Stop = "ada ends it", "the policy has changed" },
			want:  "RollingBack w1 Aborted: wave 1 of 2: ada ends it; undoing the wave's writes"},
		"its policy changes": {
			reason: "nobody could undo it later", in: held(v1alpha1.PhaseVerifying, target(1, written)),
			given: func(o *Observation) { o.Stop = "the policy has changed" },
			want: "RollingBack w1 Before: wave 1 of 2: the policy has changed, and the wave that is held has failed; " +
				"undoing the wave's writes"},
		"a person asks once more": {
			reason: "it is verified anew", in: held(v1alpha1.PhaseVerifying, target(1, written)),
			given: asks("2"),
			want:  "Verifying w1 WaveInProgress: wave 1 of 2: ada asks to verify it once more | anew | retry 2"},
		"somebody asks once more": {
			reason: "admission didn't see who", in: held(v1alpha1.PhaseVerifying, target(1, written)),
			given: asks("3"),
			want:  "Verifying w1 WaveInProgress: wave 1 of 2: a person asks to verify it once more | anew | retry 3"},
		"a person has asked before": {
			reason: "that has been answered", in: held(v1alpha1.PhaseVerifying, target(1, written)),
			given: asks("1"), want: "Held w1 Before: as it was | from Verifying | wait 5s"},
	})
}

func TestStepHeldWithoutAnswer(t *testing.T) {
	soaking := v1alpha1.PhaseSoaking
	answers := func(v v1alpha1.AnalysisVerdict) func(*Observation) {
		return func(o *Observation) {
			o.Spec.Plan.Rollout.Metrics = []v1alpha1.PlannedMetric{{Name: "errors", SuccessCondition: "sample < 1.0"}}
			o.Analysis = Analysis{Verdict: v, Message: "errors: no data"}
		}
	}
	runSteps(t, map[string]step{
		"metrics give no answer": {
			reason: "it is held on", in: held(soaking, target(1, verified, clean), target(1, verified, clean)),
			given: answers(v1alpha1.AnalysisInconclusive),
			want: "Held w1 AnalysisInconclusive: wave 1 of 2: metrics give no answer, which is never a pass: errors: " +
				"no data | from Soaking | wait 2s"},
		"metrics answer again": {
			reason: "it soaks anew", in: held(soaking, target(1, verified, clean)),
			given: answers(v1alpha1.AnalysisRunning),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: metrics answer again; soaking again for 5m0s | anew | " +
				"healthy for 0s"},
		"nothing of it is left": {
			reason: "there is nothing to hold", in: held(soaking, target(1, failed)),
			given: answers(v1alpha1.AnalysisInconclusive),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: metrics answer again; soaking again for 5m0s | anew | " +
				"healthy for 0s"},
		"one is set back": {
			reason: "it is counted", in: held(soaking, target(1, verified, clean), target(1, verified, setBack)),
			given: answers(v1alpha1.AnalysisInconclusive),
			want: "Held w1 AnalysisInconclusive: wave 1 of 2: metrics give no answer, which is never a pass: errors: " +
				"no data | mark 1 Failed Fighting: night-job set it back | count Failed plan/setback/uid-b 1 " +
				"shop=1 | from Soaking | wait 2s"},
		"the soak breaks": {
			reason: "it is verified anew", in: held(soaking, target(1, verified, starting, applied(time.Hour))),
			given: answers(v1alpha1.AnalysisInconclusive),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: soak broken by Deployment shop/a: 1 of 2 Pods is ready " +
				"| mark 0 Applied | anew"},
		"one violates": {
			reason: "harm is undone at once", in: held(soaking, target(1, verified, violates)),
			given: func(o *Observation) {
				answers(v1alpha1.AnalysisInconclusive)(o)
				o.Stop = "the policy has changed"
			},
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: it has no limits; " +
				"undoing the wave's writes | mark 0 Applied StillViolating: it has no limits | count Failed " +
				"plan/w1/failed 1 shop=1 | count PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"its policy changes": {
			reason: "nobody could undo it later", in: held(soaking, target(1, verified, clean)),
			given: func(o *Observation) {
				answers(v1alpha1.AnalysisInconclusive)(o)
				o.Stop = "the policy has changed"
			},
			want: "RollingBack w1 Before: wave 1 of 2: the policy has changed, and metrics haven't said whether the " +
				"wave does harm; undoing the wave's writes"},
		"a person ends it": {
			reason: "the wave is undone", in: held(soaking, target(1, verified, violates)),
			given: func(o *Observation) { answers(v1alpha1.AnalysisInconclusive)(o); o.Abort = "ada ends it" },
			want:  "RollingBack w1 Aborted: wave 1 of 2: ada ends it; undoing the wave's writes"},
	})
}
