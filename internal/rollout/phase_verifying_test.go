// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

var (
	clean    = seen(CheckPassed, "", "")
	violates = seen(CheckFailed, v1alpha1.ReasonStillViolating, "it has no limits")
	starting = seen(CheckWaiting, v1alpha1.ReasonUnhealthy, "1 of 2 Pods is ready")
	unread   = seen(CheckWaiting, v1alpha1.ReasonUnobserved, "no answer")
	gone     = seen(CheckGone, v1alpha1.ReasonVanished, "it is deleted")
	setBack  = seen(CheckSetBack, v1alpha1.ReasonFighting, "night-job set it back")
)

func TestStepVerifying(t *testing.T) {
	verifying := func(wave int32, targets ...TargetView) Observation {
		return situation(v1alpha1.PhaseVerifying, wave, targets...)
	}
	runSteps(t, map[string]step{
		"all is clean": {
			reason: "the wave soaks",
			in:     verifying(1, target(0, done), target(1, written, clean), target(1, verified)),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: verified; soaking for 5m0s | mark 1 Verified | healthy " +
				"for 0s"},
		"the canary is clean": {
			reason: "it soaks for its own time", in: verifying(0, target(0, written, clean)),
			given: func(o *Observation) { o.Spec.Plan.Waves[0].Soak.Duration = time.Hour },
			want: "Soaking w0 WaveInProgress: canary: verified; soaking for 1h0m0s | mark 0 Verified | " +
				"healthy for 0s"},
		"a wave after the canary is clean": {
			reason: "the canary's time isn't its own", in: verifying(1, target(1, written, clean)),
			given: func(o *Observation) { o.Spec.Plan.Waves[0].Soak.Duration = time.Hour },
			want: "Soaking w1 WaveInProgress: wave 1 of 2: verified; soaking for 5m0s | mark 0 Verified | healthy " +
				"for 0s"},
		"a batch is clean": {
			reason: "the next is written", in: verifying(1, target(1, written, clean), target(1, pending)),
			want: "Applying w1 WaveInProgress: wave 1 of 2: batch verified; going on | mark 0 Verified"},
		"a batch is clean, and the gate has closed": {
			reason: "what is written soaks", in: verifying(1, target(1, written, clean), target(1, pending)),
			given: func(o *Observation) { o.Gate.Closed = true },
			want: "Soaking w1 WaveInProgress: wave 1 of 2: verified; soaking for 5m0s | mark 0 Verified | healthy " +
				"for 0s"},
		"a batch is clean, and a recorded write isn't known": {
			reason: "it is found out about", in: verifying(1, target(1, written, clean), target(1, intended)),
			given: func(o *Observation) { o.Gate.Closed = true },
			want:  "Applying w1 WaveInProgress: wave 1 of 2: batch verified; going on | mark 0 Verified"},
		"one isn't well yet": {
			reason: "it is waited for", in: verifying(1, target(1, written, clean, applied(time.Minute)),
				target(1, written, starting, applied(time.Minute))),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 1 of 2 verified; waiting for Deployment shop/b: 1 of 2 " +
				"Pods is ready | mark 0 Verified | wait 1s"},
		"one was well and isn't any more": {
			reason: "it is in flight again",
			in:     verifying(1, target(1, verified, starting, applied(time.Minute)), target(1, verified, clean)),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 1 of 2 verified; waiting for Deployment shop/a: 1 of 2 " +
				"Pods is ready | mark 0 Applied | wait 1s"},
		"one wasn't looked at": {
			reason: "no answer is never a pass", in: verifying(1, target(1, written)),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: not " +
				"checked yet | wait 1s"},
		"one violates": {
			reason: "the wave is undone", in: verifying(1, target(1, written, clean), target(1, verified, violates),
				target(1, written, violates, in("cart"))),
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment cart/c: it has no limits; " +
				"undoing the wave's writes | mark 2 Applied StillViolating: it has no limits | mark 1 Applied " +
				"StillViolating: it has no limits | count Failed plan/w1/failed 2 cart=1 shop=1 | count PlanFailed " +
				"plan/plan 1 cart=1 shop=1 | failed in [\"cart\" \"shop\"]"},
		"one of the canary violates": {
			reason: "it is the canary that failed", in: verifying(0, target(0, written, violates, in(""))),
			want: "RollingBack w0 VerificationFailed: canary failed: Deployment a: it has no limits; undoing the " +
				"wave's writes | mark 0 Applied StillViolating: it has no limits | count CanaryFailed " +
				"plan/w0/failed 1 | count PlanFailed plan/plan 1 | failed in [\"\"]"},
		"one violates, and a person is to decide": {
			reason: "onFailure is Hold", in: verifying(1, target(1, written, violates)),
			given: func(o *Observation) { o.Spec.Plan.Rollout.OnFailure = v1alpha1.FailureHold },
			want: "Held w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: it has no limits; nothing is " +
				"undone until a person decides: evenkeel rollout abort undoes it, evenkeel rollout retry verifies " +
				"it once more | mark 0 Applied StillViolating: it has no limits | count Failed plan/w1/failed 1 " +
				"shop=1 | count PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"] | from Verifying | wait 5s"},
		"one violates, and all is to be undone": {
			reason: "rollbackScope is All", in: verifying(1, target(1, written, violates)),
			given: func(o *Observation) { o.Spec.Plan.Rollout.RollbackScope = v1alpha1.RollbackAll },
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: it has no limits; " +
				"undoing all writes of the plan | mark 0 Applied StillViolating: it has no limits | count Failed " +
				"plan/w1/failed 1 shop=1 | count PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"one violates after a retry": {
			reason: "it counts anew", in: verifying(1, target(1, written, violates)),
			given: func(o *Observation) { o.Status.Retries = 2 },
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: it has no limits; " +
				"undoing the wave's writes | mark 0 Applied StillViolating: it has no limits | count Failed " +
				"plan/w1/failed/retry2 1 shop=1 | count PlanFailed plan/plan/retry2 1 shop=1 | failed in [\"shop\"]"},
		"one isn't well in time": {
			reason: "the wave is undone", in: verifying(1, target(1, written, starting, applied(10*time.Minute+1))),
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: not verified within " +
				"10m0s: 1 of 2 Pods is ready; undoing the wave's writes | mark 0 Applied DeadlineExceeded: not " +
				"verified within 10m0s: 1 of 2 Pods is ready | count Failed plan/w1/failed 1 shop=1 | count " +
				"PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"one isn't well just in time": {
			reason: "the deadline hasn't passed",
			in:     verifying(1, target(1, written, starting, applied(10*time.Minute))),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: 1 of 2 " +
				"Pods is ready | wait 1s"},
		"one isn't well for long, but the phase is young": {
			reason: "its time begins anew when the soak breaks",
			in:     verifying(1, target(1, written, starting, applied(14*time.Minute))),
			given:  func(o *Observation) { o.Status.PhaseStartTime = ago(time.Minute) },
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: 1 of 2 " +
				"Pods is ready | wait 1s"},
		"one isn't well, and the phase is older than its write": {
			reason: "its time begins with the write",
			in:     verifying(1, target(1, written, starting, applied(10*time.Minute))),
			given:  func(o *Observation) { o.Status.PhaseStartTime = ago(time.Hour) },
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: 1 of 2 " +
				"Pods is ready | wait 1s"},
		"one that was well isn't in time": {
			reason: "it was seen not to be",
			in:     verifying(1, target(1, verified, starting, applied(10*time.Minute+1))),
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: not verified within " +
				"10m0s: 1 of 2 Pods is ready; undoing the wave's writes | mark 0 Applied DeadlineExceeded: not " +
				"verified within 10m0s: 1 of 2 Pods is ready | count Failed plan/w1/failed 1 shop=1 | count " +
				"PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"one of an earlier batch isn't looked at": {
			reason: "it is while soaking",
			in:     verifying(1, target(1, verified, applied(time.Hour)), target(1, written, clean)),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: verified; soaking for 5m0s | mark 1 Verified | healthy " +
				"for 0s"},
		"one can't be read in time": {
			reason: "that says nothing of the fix, and no breaker counts it",
			in:     verifying(1, target(1, written, unread, applied(20*time.Minute+1)), target(1, verified)),
			want: "RollingBack w1 NoAnswer: wave 1 of 2 failed: Deployment shop/a: not verified within 20m0s: no " +
				"answer; that says nothing of the fix; undoing the wave's writes | mark 0 Applied Unobserved: not " +
				"verified within 20m0s: no answer | failed in [\"shop\"]"},
		"one can't be read yet": {
			reason: "it has twice the time", in: verifying(1, target(1, written, unread, applied(20*time.Minute))),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: no " +
				"answer | wait 1s"},
		"one wasn't looked at in time": {
			reason: "nobody knows",
			in:     verifying(1, target(1, written, applied(20*time.Minute+1)), target(1, verified)),
			want: "RollingBack w1 NoAnswer: wave 1 of 2 failed: Deployment shop/a: not verified within 20m0s: " +
				"nothing could be observed; that says nothing of the fix; undoing the wave's writes | mark 0 " +
				"Applied Unobserved: not verified within 20m0s: nothing could be observed | failed in [\"shop\"]"},
		"one can't be read and another violates": {
			reason: "what speaks of the fix decides",
			in: verifying(1, target(1, written, unread, applied(time.Hour)),
				target(1, written, violates, in("cart"))),
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment cart/b: it has no limits; " +
				"undoing the wave's writes | mark 0 Applied Unobserved: not verified within 20m0s: no answer | " +
				"mark 1 Applied StillViolating: it has no limits | count Failed plan/w1/failed 1 cart=1 | count " +
				"PlanFailed plan/plan 1 cart=1 | failed in [\"cart\"]"},
		"a wave flaps": {
			reason: "three times deadline and soak are enough",
			in:     verifying(1, target(1, written, starting, applied(45*time.Minute+1))),
			given:  func(o *Observation) { o.Status.PhaseStartTime = ago(time.Minute) },
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: kept flapping for " +
				"45m0s: 1 of 2 Pods is ready; undoing the wave's writes | mark 0 Applied DeadlineExceeded: kept " +
				"flapping for 45m0s: 1 of 2 Pods is ready | count Failed plan/w1/failed 1 shop=1 | count " +
				"PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"a wave flaps, but not for long": {
			reason: "three times deadline and soak are the patience",
			in:     verifying(1, target(1, written, starting, applied(45*time.Minute))),
			given:  func(o *Observation) { o.Status.PhaseStartTime = ago(time.Minute) },
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: 1 of 2 " +
				"Pods is ready | wait 1s"},
		"a wave that was begun anew flaps": {
			reason: "its time begins with the wave",
			in:     verifying(1, target(1, written, starting, applied(time.Hour))),
			given: func(o *Observation) {
				o.Status.PhaseStartTime, o.Status.WaveStartTime = ago(time.Minute), ago(20*time.Minute)
			},
			want: "Verifying w1 WaveInProgress: wave 1 of 2: 0 of 1 verified; waiting for Deployment shop/a: 1 of 2 " +
				"Pods is ready | wait 1s"},
		"a wave flaps, and another was written a moment ago": {
			reason: "only its own writes give it time",
			in: verifying(1, target(1, written, starting, applied(time.Hour)),
				target(2, pending, applied(time.Second))),
			given: func(o *Observation) { o.Status.PhaseStartTime = ago(time.Minute) },
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: kept flapping for " +
				"45m0s: 1 of 2 Pods is ready; undoing the wave's writes | mark 0 Applied DeadlineExceeded: kept " +
				"flapping for 45m0s: 1 of 2 Pods is ready | count Failed plan/w1/failed 1 shop=1 | count " +
				"PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"one was set back": {
			reason: "it fails alone", in: verifying(1, target(1, written, setBack), target(1, written, clean)),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: verified; soaking for 5m0s | mark 0 Failed Fighting: " +
				"night-job set it back | mark 1 Verified | count Failed plan/setback/uid-a 1 shop=1 | healthy for " +
				"0s"},
		"one of the canary is gone": {
			reason: "a canary has no share", in: verifying(0, target(0, written, gone)),
			want: "RollingBack w0 VerificationFailed: canary failed: Deployment shop/a: it is deleted; undoing the " +
				"wave's writes | mark 0 Applied Vanished: it is deleted | count CanaryFailed plan/w0/failed 1 " +
				"shop=1 | count PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"one of two is gone": {
			reason: "one may go", in: verifying(1, target(1, written, gone), target(1, written, clean)),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: verified; soaking for 5m0s | mark 0 Failed Vanished: it " +
				"is deleted | mark 1 Verified | count Failed plan/vanished/uid-a 1 shop=1 | healthy for 0s"},
		"a person ends it": {
			reason: "the wave is undone", in: verifying(1, target(1, written, violates)),
			given: func(o *Observation) { o.Abort = "ada ends it" },
			want:  "RollingBack w1 Aborted: wave 1 of 2: ada ends it; undoing the wave's writes"},
		"a person wants all of it undone": {
			reason: "earlier waves, too", in: verifying(1, target(1, written, violates)),
			given: func(o *Observation) { o.Abort, o.Spec.DesiredState = "ada wants it undone", v1alpha1.StateUndone },
			want:  "RollingBack w1 Undone: wave 1 of 2: ada wants it undone; undoing all writes of the plan"},
	})
}

func TestStepSoaking(t *testing.T) {
	soaking := func(targets ...TargetView) Observation {
		o := situation(v1alpha1.PhaseSoaking, 1, targets...)
		o.Status.HealthyTime = ago(time.Minute)
		return o
	}
	long := func(o *Observation) { o.Status.HealthyTime = ago(5 * time.Minute) }
	analysis := func(v v1alpha1.AnalysisVerdict, wait time.Duration) func(*Observation) {
		return func(o *Observation) {
			o.Spec.Plan.Rollout.Metrics = []v1alpha1.PlannedMetric{{Name: "errors", SuccessCondition: "sample < 1.0"}}
			o.Analysis = Analysis{Verdict: v, Message: "errors: 3 of 5", Wait: wait}
		}
	}
	var many []TargetView
	for range 200 {
		many = append(many, target(1, verified, clean))
	}
	runSteps(t, map[string]step{
		"it has soaked for a minute": {
			reason: "four are left", in: soaking(target(1, verified, clean)),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: soaking, 4m0s left | healthy for 1m0s | wait 2s"},
		"a large wave": {
			reason: "it is looked at less often", in: soaking(many...),
			want: "Soaking w1 WaveInProgress: wave 1 of 2: soaking, 4m0s left | healthy for 1m0s | wait 4s"},
		"the end is near": {
			reason: "it waits no longer than that", in: soaking(target(1, verified, clean)),
			given: func(o *Observation) { o.Status.HealthyTime = ago(5*time.Minute - time.Second) },
			want:  "Soaking w1 WaveInProgress: wave 1 of 2: soaking, 1s left | healthy for 4m59s | wait 1s"},
		"nobody knows since when": {
			reason: "it begins now", in: soaking(target(1, verified, clean)),
			given: func(o *Observation) { o.Status.HealthyTime = nil },
			want:  "Soaking w1 WaveInProgress: wave 1 of 2: soaking, 5m0s left | healthy for 0s | wait 2s"},
		"it has soaked": {
			reason: "its targets are done, by namespace",
			in: soaking(target(1, verified, clean, in("cart")), target(1, verified, clean),
				target(1, verified, clean)),
			given: long,
			want: "Applying w1 WaveInProgress: wave 1 of 2: 3 targets verified and soaked | mark 0 Done | mark 1 " +
				"Done | mark 2 Done | count Succeeded plan/w1/cart/a/ok 3 cart=1 shop=2"},
		"it has soaked, and one is gone": {
			reason: "that one isn't done", in: soaking(target(1, verified, gone), target(1, verified, clean)),
			given: long,
			want: "Applying w1 WaveInProgress: wave 1 of 2: 1 target verified and soaked | mark 0 Failed Vanished: " +
				"it is deleted | mark 1 Done | count Failed plan/vanished/uid-a 1 shop=1 | count Succeeded " +
				"plan/w1/shop/b/ok 1 shop=1"},
		"it has soaked, and the rest of the wave is to be written": {
			reason: "the rest is verified and soaked like a wave of its own",
			in:     soaking(target(1, verified, clean), target(1, pending)),
			given:  func(o *Observation) { long(o); o.MostInWave = 1 },
			want: "Applying w1 WaveInProgress: wave 1 of 2: 1 target verified and soaked | mark 0 Done | count " +
				"Succeeded plan/w1/shop/a/ok 1 shop=1 | anew"},
		"all of it was set back": {
			reason: "there is nothing left to soak", in: soaking(target(1, verified, setBack)),
			given: long,
			want: "Applying w1 WaveInProgress: wave 1 of 2: 0 targets verified and soaked | mark 0 Failed Fighting: " +
				"night-job set it back | count Failed plan/setback/uid-a 1 shop=1"},
		"nothing of it is left": {
			reason: "nothing can do harm", in: soaking(target(1, failed), target(2, pending)),
			want: "Applying w1 WaveInProgress: wave 1 of 2: 0 targets verified and soaked"},
		"the soak breaks": {
			reason: "it is verified anew",
			in:     soaking(target(1, verified, starting, applied(time.Minute)), target(1, verified, setBack)),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: soak broken by Deployment shop/a: 1 of 2 Pods is ready " +
				"| mark 0 Applied | mark 1 Failed Fighting: night-job set it back | count Failed " +
				"plan/setback/uid-b 1 shop=1"},
		"one wasn't looked at": {
			reason: "no answer is never a pass", in: soaking(target(1, verified)),
			want: "Verifying w1 WaveInProgress: wave 1 of 2: soak broken by Deployment shop/a: not checked yet | " +
				"mark 0 Applied"},
		"one violates": {
			reason: "the wave is undone", in: soaking(target(1, verified, violates)),
			given: long,
			want: "RollingBack w1 VerificationFailed: wave 1 of 2 failed: Deployment shop/a: it has no limits; " +
				"undoing the wave's writes | mark 0 Applied StillViolating: it has no limits | count Failed " +
				"plan/w1/failed 1 shop=1 | count PlanFailed plan/plan 1 shop=1 | failed in [\"shop\"]"},
		"it has soaked, and metrics haven't answered": {
			reason: "they are waited for, until the next sample", in: soaking(target(1, verified, clean)),
			given: func(o *Observation) { long(o); analysis(v1alpha1.AnalysisRunning, time.Second)(o) },
			want: "Soaking w1 WaveInProgress: wave 1 of 2: soaked; waiting for metrics: errors: 3 of 5 | healthy for " +
				"5m0s | wait 1s"},
		"it soaks, and metrics are asked now": {
			reason: "it waits a little", in: soaking(target(1, verified, clean)),
			given: analysis(v1alpha1.AnalysisRunning, 0),
			want:  "Soaking w1 WaveInProgress: wave 1 of 2: soaking, 4m0s left | healthy for 1m0s | wait 10ms"},
		"metrics say that it does no harm": {
			reason: "it has soaked", in: soaking(target(1, verified, clean)),
			given: func(o *Observation) { long(o); analysis(v1alpha1.AnalysisPassed, 0)(o) },
			want: "Applying w1 WaveInProgress: wave 1 of 2: 1 target verified and soaked | mark 0 Done | count " +
				"Succeeded plan/w1/shop/a/ok 1 shop=1"},
		"metrics say that it does harm": {
			reason: "each namespace is blamed once",
			in: soaking(target(1, verified, clean), target(1, verified, clean),
				target(1, verified, clean, in("cart")),
				target(1, verified, clean, in(""))),
			given: analysis(v1alpha1.AnalysisFailed, 0),
			want: "RollingBack w1 AnalysisFailed: wave 1 of 2 failed: errors: 3 of 5; undoing the wave's writes | " +
				"count Failed plan/w1/failed 1 cart=1 shop=1 | count PlanFailed plan/plan 1 cart=1 shop=1 | failed " +
				"in [\"\" \"cart\" \"shop\"]"},
		"metrics give no answer": {
			reason: "it is held", in: soaking(target(1, verified, clean), target(1, verified, setBack)),
			given: analysis("", 0),
			want: "Held w1 AnalysisInconclusive: wave 1 of 2: metrics give no answer, which is never a pass: errors: " +
				"3 of 5 | mark 1 Failed Fighting: night-job set it back | count Failed plan/setback/uid-b 1 shop=1 " +
				"| from Soaking | wait 2s"},
		"a person ends it": {
			reason: "the wave is undone", in: soaking(target(1, verified, clean)),
			given: func(o *Observation) { o.Abort = "ada ends it" },
			want:  "RollingBack w1 Aborted: wave 1 of 2: ada ends it; undoing the wave's writes"},
		"it has soaked after long without a look, in no time for the deadline": {
			reason: "in the soak the deadline doesn't count",
			in:     soaking(target(1, written, starting, applied(44*time.Minute))),
			want:   "Verifying w1 WaveInProgress: wave 1 of 2: soak broken by Deployment shop/a: 1 of 2 Pods is ready"},
	})
}
