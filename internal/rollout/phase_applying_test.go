// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

const (
	pending  = v1alpha1.TargetPending
	intended = v1alpha1.TargetIntent
	written  = v1alpha1.TargetApplied
	verified = v1alpha1.TargetVerified
	done     = v1alpha1.TargetDone
	failed   = v1alpha1.TargetFailed
	skipped  = v1alpha1.TargetSkipped
)

func TestStepApplying(t *testing.T) {
	applying := func(wave int32, targets ...TargetView) Observation {
		return situation(v1alpha1.PhaseApplying, wave, targets...)
	}
	closed := func(o *Observation) {
		o.Gate = Gate{Closed: true, Reason: v1alpha1.ReasonPaused, Message: "ada has paused it"}
	}
	aborted := func(o *Observation) { o.Abort = "ada ends it" }
	stopped := func(o *Observation) { o.Stop = "the policy has changed" }
	unhealthy := because(v1alpha1.ReasonUnhealthyBefore)
	runSteps(t, map[string]step{
		"the first batch": {
			reason: "two may be in flight",
			in: applying(1, target(0, done), target(1, pending), target(1, pending), target(1, pending),
				target(2, pending)), want: "Applying w1 WaveInProgress: wave 1 of 2: writing 2 of 3 | write [1 2]"},
		"a wave that nobody has approved": {
			reason: "no write begins, and no gate is asked", in: applying(1, target(0, done), target(1, pending)),
			given: all(askedAfterCanary, closed),
			want: "AwaitingApproval w1 AwaitingApproval: wave 1 of 2: a person must answer: " +
				"evenkeel rollout approve, or reject"},
		"a wave that is approved": {
			reason: "it begins", in: applying(1, target(0, done), target(1, pending)),
			given: all(askedAfterCanary, approvedWave(1)),
			want:  "Applying w1 WaveInProgress: wave 1 of 2: writing 1 of 1 | write [1]"},
		"a later wave": {
			reason: "one answer is enough", in: applying(2, target(1, done), target(2, pending)),
			given: all(askedAfterCanary, approvedWave(1)),
			want:  "Applying w2 WaveInProgress: wave 2 of 2: writing 1 of 1 | write [1]"},
		"the record of the answer is lost within a wave": {
			reason: "what is written is verified",
			in:     applying(1, target(1, written), target(1, pending)), given: askedAfterCanary,
			want: "Verifying w1 WaveInProgress: wave 1 of 2: verifying 1 of 2"},
		"the rest of a batch": {
			reason: "one is in flight already",
			in:     applying(1, target(1, written), target(1, pending), target(1, pending)),
			want:   "Applying w1 WaveInProgress: wave 1 of 2: writing 1 of 3 | write [1]"},
		"a batch is written": {
			reason: "it is verified before the next",
			in:     applying(1, target(1, written), target(1, written), target(1, pending)),
			want:   "Verifying w1 WaveInProgress: wave 1 of 2: verifying 2 of 3"},
		"the gate closes within a wave": {
			reason: "what is written is verified",
			in:     applying(1, target(1, written), target(1, verified), target(1, pending)),
			given:  closed, want: "Verifying w1 WaveInProgress: wave 1 of 2: verifying 2 of 3"},
		"the gate is closed, and what is verified has nothing more to wait for": {
			reason: "it may soak", in: applying(1, target(1, verified), target(1, pending)),
			given: closed, want: "Verifying w1 WaveInProgress: wave 1 of 2: verifying 1 of 2"},
		"the gate closes between waves": {
			reason: "the plan is held", in: applying(1, target(0, done), target(1, pending)),
			given: closed, want: "Held w1 Paused: ada has paused it | from Applying | wait 5s"},
		"metrics give no answer between waves": {
			reason: "no answer is never a pass", in: applying(1, target(0, done), target(1, pending)),
			given: func(o *Observation) {
				o.Spec.Plan.Rollout.Metrics = []v1alpha1.PlannedMetric{
					{Name: "errors", SuccessCondition: "sample < 1.0"}}
				o.Analysis = Analysis{Verdict: v1alpha1.AnalysisInconclusive, Message: "errors: no data"}
			}, want: "Held w1 AnalysisInconclusive: errors: no data | from Applying | wait 5s"},
		"metrics are asked how things stand first": {
			reason: "afterwards it can't be had", in: applying(1, target(0, done), target(1, pending)),
			given: func(o *Observation) {
				o.Spec.Plan.Rollout.Metrics = []v1alpha1.PlannedMetric{
					{Name: "errors", SuccessCondition: "sample <= baseline"}}
				o.Analysis = Analysis{Verdict: v1alpha1.AnalysisRunning, Wait: time.Second}
			},
			want: "Applying w1 WaveInProgress: wave 1 of 2: asking metrics how things stand before the first write | " +
				"wait 1s"},
		"a recorded write": {
			reason: "it is found out about before anything else",
			in:     applying(1, target(1, intended), target(1, intended, again(time.Minute)), target(1, pending)),
			given:  aborted,
			want: "Applying w1 WaveInProgress: wave 1 of 2: finding out whether a recorded write has happened | " +
				"resolve [0]"},
		"a recorded write that can't be found out about now": {
			reason: "it holds up the wave",
			in:     applying(1, target(1, intended, again(time.Minute)), target(1, pending)),
			want: "Applying w1 WaveInProgress: wave 1 of 2: waiting to find out whether a write has happened | wait " +
				"1m0s"},
		"a recorded write that nobody could find out about for long": {
			reason: "its wave is undone, and no breaker counts it",
			in:     applying(1, target(1, intended, again(time.Minute), lands(-20*time.Minute-1)), target(1, written)),
			want: "RollingBack w1 NoAnswer: wave 1 of 2 failed: Deployment shop/a: whether its write has happened " +
				"couldn't be found out within 20m0s; that says nothing of the fix; undoing the wave's writes | " +
				"failed in [\"shop\"]"},
		"a recorded write that may be found out about yet": {
			reason: "twice the deadline is the patience",
			in:     applying(1, target(1, intended, again(time.Minute), lands(-20*time.Minute)), target(1, written)),
			want: "Applying w1 WaveInProgress: wave 1 of 2: waiting to find out whether a write has happened | wait " +
				"1m0s"},
		"a recorded write that is looked at now, after long": {
			reason: "one look that succeeds decides",
			in:     applying(1, target(1, intended, again(time.Minute), lands(-time.Hour)), target(1, intended)),
			want: "Applying w1 WaveInProgress: wave 1 of 2: finding out whether a recorded write has happened | " +
				"resolve [1]"},
		"a recorded write of a wave that was begun anew": {
			reason: "the patience begins with the wave",
			in:     applying(1, target(1, intended, again(time.Minute), lands(-time.Hour))),
			given:  func(o *Observation) { o.Status.WaveStartTime = ago(10 * time.Minute) },
			want: "Applying w1 WaveInProgress: wave 1 of 2: waiting to find out whether a write has happened | wait " +
				"1m0s"},
		"a person ends it within a wave": {
			reason: "the wave is undone", in: applying(1, target(0, done), target(1, written)),
			given: aborted, want: "RollingBack w1 Aborted: wave 1 of 2: ada ends it; undoing the wave's writes"},
		"a person ends it between waves": {
			reason: "earlier waves stay", in: applying(1, target(0, done), target(1, pending)),
			given: aborted, want: "Aborted w1 Aborted: ada ends it | mark 1 Skipped NotAttempted: ada ends it"},
		"its policy changes between waves": {
			reason: "nothing more is begun", in: applying(1, target(0, done), target(1, pending), target(2, pending)),
			given: stopped,
			want: "Superseded w1 PolicyChanged: the policy has changed | mark 1 Skipped NotAttempted: the policy has " +
				"changed | mark 2 Skipped NotAttempted: the policy has changed"},
		"its policy changes within a wave": {
			reason: "what is written is verified first", in: applying(1, target(1, verified), target(1, pending)),
			given: stopped, want: "Verifying w1 WaveInProgress: wave 1 of 2: verifying 1 of 2"},
		"an API error": {
			reason: "it waits for the earliest next try",
			in: applying(1, target(0, done), target(1, pending, again(2*time.Minute)),
				target(1, pending, again(time.Minute)), target(1, pending, again(3*time.Minute)),
				target(1, failed, again(time.Second))),
			want: "Applying w1 WaveInProgress: wave 1 of 2: waiting to try again after an API error | wait 1m0s"},
		"what rules look up isn't known": {
			reason: "a person is told what it waits for", in: applying(1, target(0, done),
				target(1, pending, again(time.Minute), because(v1alpha1.ReasonUnobserved))),
			want: "Applying w1 WaveInProgress: wave 1 of 2: 1 target waits for what rules reference " +
				"(match.references) to be known, and as the plan has left it, or for admission and the scan to " +
				"be able to judge by it | wait 1m0s"},
		"what rules look up isn't known, and an API error": {
			reason: "the error is told", in: applying(1, target(0, done),
				target(1, pending, again(2*time.Minute), because(v1alpha1.ReasonUnobserved)),
				target(1, pending, again(time.Minute))),
			want: "Applying w1 WaveInProgress: wave 1 of 2: waiting to try again after an API error | wait 1m0s"},
		"an API error while others are verified": {
			reason: "to verify them would lead back here at once",
			in:     applying(1, target(1, verified), target(1, pending, again(time.Minute))),
			want:   "Applying w1 WaveInProgress: wave 1 of 2: waiting to try again after an API error | wait 1m0s"},
		"no room in a budget": {
			reason: "it looks again soon", in: applying(1, target(0, done),
				target(1, pending, barred(v1alpha1.ReasonBudgetSpent, "2 of 2 are in flight")),
				target(1, pending, barred(v1alpha1.ReasonBudgetSpent, "2 of 2 are in flight"))),
			want: "Applying w1 BudgetSpent: wave 1 of 2: 2 targets wait for room: 2 of 2 are in flight | wait 3s"},
		"another plan has an object": {
			reason: "its record says so, once", in: applying(1, target(0, done),
				target(1, pending, barred(v1alpha1.ReasonOtherPlan, "plan x has it")),
				target(1, pending, barred(v1alpha1.ReasonOtherPlan, "plan y has it"),
					because(v1alpha1.ReasonOtherPlan)),
				target(1, pending, barred(v1alpha1.ReasonOtherPlan, "plan z has it"), unhealthy),
				target(1, pending, barred(v1alpha1.ReasonBudgetSpent, "no room"))),
			want: "Applying w1 OtherPlan: wave 1 of 2: 4 targets wait: Deployment shop/b: plan x has it | mark 1 " +
				"Pending OtherPlan: plan x has it | wait 1s"},
		"room is long in coming": {
			reason: "what is verified soaks meanwhile",
			in:     applying(1, target(1, verified), target(1, pending, barred(v1alpha1.ReasonBudgetSpent, "no room"))),
			given:  func(o *Observation) { o.Status.PhaseStartTime = ago(30 * time.Second) },
			want: "Soaking w1 WaveInProgress: wave 1 of 2: no room in the budgets for the rest of the wave; soaking " +
				"what is verified for 5m0s | healthy for 0s"},
		"room isn't long in coming yet": {
			reason: "a wave is better soaked in one",
			in:     applying(1, target(1, verified), target(1, pending, barred(v1alpha1.ReasonBudgetSpent, "no room"))),
			given:  func(o *Observation) { o.Status.PhaseStartTime = ago(30*time.Second - 1) },
			want:   "Applying w1 BudgetSpent: wave 1 of 2: 1 target waits for room: no room | wait 3s"},
		"another plan is long in coming to its end": {
			reason: "what is verified soaks meanwhile",
			in: applying(1, target(1, verified),
				target(1, pending, barred(v1alpha1.ReasonOtherPlan, "plan x has it"))),
			given: func(o *Observation) { o.Status.PhaseStartTime = ago(time.Minute) },
			want: "Soaking w1 WaveInProgress: wave 1 of 2: other plans have the rest of the wave in work; soaking " +
				"what is verified for 5m0s | healthy for 0s"},
		"a breaker keeps a wave back": {
			reason: "nothing else is left",
			in:     applying(1, target(0, done), target(1, pending, barred("", "the breaker is open"))),
			want:   "Held w1 BreakerOpen: the breaker is open | from Applying | wait 5s"},
		"something that lasts keeps a wave back": {
			reason: "it is held for that reason",
			in:     applying(1, target(0, done), target(1, pending, barred(v1alpha1.ReasonPaused, "shop is paused"))),
			want:   "Held w1 Paused: shop is paused | from Applying | wait 5s"},
		"a breaker keeps a namespace back": {
			reason: "it goes on elsewhere",
			in: applying(1, target(0, done), target(1, pending, barred("", "the breaker of shop is open")),
				target(1, pending, barred(v1alpha1.ReasonBreakerOpen, "the breaker of shop is open")),
				target(2, pending, barred("", "the breaker of shop is open")), target(2, pending, in("cart"))),
			want: "Applying w1 WaveInProgress: wave 1 of 2: going on without 2 targets: the breaker of shop is open " +
				"| mark 1 Skipped BreakerOpen: the breaker of shop is open | mark 2 Skipped BreakerOpen: the " +
				"breaker of shop is open"},
		"a breaker keeps a namespace of the canary back": {
			reason: "candidates are drawn from elsewhere",
			in: applying(0, target(0, pending, barred("", "the breaker of shop is open")),
				target(1, pending, barred("", "the breaker of shop is open")), target(2, pending, in("cart"))),
			want: "Applying w0 WaveInProgress: canary: going on without 2 targets: the breaker of shop is open | " +
				"mark 0 Skipped BreakerOpen: the breaker of shop is open | mark 1 Skipped BreakerOpen: the breaker " +
				"of shop is open"},
		"the canary is done": {
			reason: "the next wave begins",
			in:     applying(0, target(0, done), target(1, pending), target(1, pending), target(2, pending)),
			want:   "Applying w1 WaveInProgress: wave 1 of 2: beginning with 2 targets"},
		"the last stage's canary is done": {
			reason: "the next wave of the stage begins",
			in:     applying(1, target(0, done), target(1, done), target(2, pending)),
			given:  stages, want: "Applying w2 WaveInProgress: wave 2 of 2 (prod): beginning with 1 target"},
		"a stage is done": {
			reason: "the next begins with its canary, though none of it is left in it",
			in:     applying(0, target(0, done), target(2, pending)),
			given:  stages, want: "Applying w1 WaveInProgress: canary of prod: beginning with 0 targets"},
		"all is done": {
			reason: "it has succeeded",
			in:     applying(2, target(0, done), target(1, done, in("cart")), target(2, done), target(2, done, in(""))),
			want: "Succeeded w2 AllTargetsSettled: 4 of 4 targets fixed and verified | count PlanSucceeded plan/plan " +
				"1 cart=1 shop=2"},
		"some couldn't be fixed": {
			reason: "the reason says so",
			in:     applying(2, target(0, done), target(2, failed, because(v1alpha1.ReasonAdmissionDenied))),
			want: "Succeeded w2 SomeTargetsFailed: 1 of 2 targets fixed and verified; 1 couldn't be fixed: see their " +
				"reasons in the slices | count PlanSucceeded plan/plan 1 shop=1"},
		"all that was written has been set back": {
			reason: "nobody knows whether it did harm",
			in: applying(1, target(0, done), target(1, failed, because(v1alpha1.ReasonFighting)),
				target(2, pending)),
			want: "Aborted w1 Unverified: wave 1 of 2: all that was written has been reverted or taken away by " +
				"others, so that nothing was verified; nothing more is begun; the last fight, Deployment shop/b: " +
				"Fighting | mark 2 Skipped NotAttempted: wave 1 of 2: all that was written has been reverted or " +
				"taken away by others, so that nothing was verified; nothing more is begun; the last fight, " +
				"Deployment shop/b: Fighting"},
		"what was written has been set back but for one": {
			reason: "that one was verified",
			in: applying(1, target(0, done), target(1, failed, because(v1alpha1.ReasonFighting)),
				target(1, done), target(2, pending)),
			want: "Applying w2 WaveInProgress: wave 2 of 2: beginning with 1 target"},
		"a wave before was set back": {
			reason: "only the wave at work counts",
			in: applying(2, target(0, done), target(1, failed, because(v1alpha1.ReasonFighting)),
				target(2, failed, because(v1alpha1.ReasonAdmissionDenied))),
			want: "Succeeded w2 SomeTargetsFailed: 1 of 3 targets fixed and verified; 1 couldn't be fixed: see their " +
				"reasons in the slices; 1 fixed, and reverted in a fight; the last fight, Deployment shop/b: " +
				"Fighting | count PlanSucceeded plan/plan 1 shop=1"},
		"an end that a crash interrupted": {
			reason: "its marks were kept, its phase wasn't", in: applying(1, target(0, done), target(1, done),
				target(2, skipped, because(v1alpha1.ReasonNotAttempted))),
			want: "Superseded w1 PolicyChanged: the plan had been stopped when the controller was interrupted; a new " +
				"plan follows"},
		"an end for want of a canary that a crash interrupted": {
			reason: "nothing was proved", in: applying(0, target(0, skipped, because(v1alpha1.ReasonNotAttempted)),
				target(1, skipped, because(v1alpha1.ReasonNotAttempted))),
			want: "Aborted w0 NoHealthyCanary: no target that may be a canary is healthy enough to be one"},
		"a canary that couldn't be written": {
			reason: "another is drawn, as many as the canary is large",
			in: applying(0, target(0, failed, because(v1alpha1.ReasonAdmissionDenied)),
				target(1, pending, unhealthy), target(1, pending, func(t *TargetView) { t.ExcludedFromCanary = true }),
				target(1, pending),
				target(2, pending)),
			want: "Applying w0 WaveInProgress: canary: no canary could be written yet; drawing Deployment shop/d " +
				"into the canary | mark 3 Pending into w0"},
		"the canary of a stage that couldn't be written": {
			reason: "what is excluded from the first canary may be this one",
			in: applying(1, target(0, done), target(1, failed, because(v1alpha1.ReasonAdmissionDenied)),
				target(2, pending, func(t *TargetView) { t.ExcludedFromCanary = true }), target(2, pending)),
			given: func(o *Observation) { stages(o); o.Spec.Plan.Waves = fixture.PlannedWaves(1, 2, 3) },
			want: "Applying w1 WaveInProgress: canary of prod: no canary could be written yet; drawing Deployment " +
				"shop/c into the canary | mark 2 Pending into w1 | mark 3 Pending into w1"},
		"all of it is clean by now": {
			reason: "no canary was needed", in: applying(0, target(0, skipped, because(v1alpha1.ReasonAlreadyClean))),
			want: "Succeeded w0 AllTargetsSettled: 0 of 1 target fixed and verified"},
		"no candidate is left": {
			reason: "the plan ends before a write",
			in:     applying(0, target(0, skipped, unhealthy), target(1, pending, unhealthy)),
			want: "Aborted w0 NoHealthyCanary: no target that may be a canary is healthy enough to be one | mark 1 " +
				"Skipped NotAttempted: no target that may be a canary is healthy enough to be one"},
		"every target couldn't be written": {
			reason: "it says why, and what to do",
			in: applying(0, target(0, failed, because(v1alpha1.ReasonAdmissionDenied)),
				target(0, failed, because(v1alpha1.ReasonNotAllowed), in("cart"))),
			want: "Aborted w0 NoViableCanary: 2 candidates in a row couldn't be written, the last, Deployment " +
				"cart/b: NotAllowed; the policy's allowedActions or the manager's flags let no fix do that (evenkeel " +
				"explain says what); once it is allowed: evenkeel rollout retry | failed in [\"cart\"]"},
		"no target could be written, for reasons that say nothing of the fix": {
			reason: "another plan is made", in: applying(0, target(0, failed, because(v1alpha1.ReasonRetriesExhausted)),
				target(0, failed, because(v1alpha1.ReasonAdmissionDenied))),
			want: "Aborted w0 NoAnswer: 2 candidates in a row couldn't be written, 1 of them for reasons that say " +
				"nothing of the fix, the last, Deployment shop/b: AdmissionDenied; another plan is made by itself " +
				"| failed in [\"shop\"]"},
		"the canary of a later stage couldn't be had": {
			reason: "what was fixed stays",
			in:     applying(1, target(0, done), target(1, failed, because(v1alpha1.ReasonAdmissionDenied))),
			given:  stages,
			want: "Aborted w1 NoViableCanary: canary of prod: 1 candidate couldn't be written, the last, " +
				"Deployment shop/b: AdmissionDenied; check the policy's fix; 1 target of earlier stages stays " +
				"fixed | failed in [\"shop\"]"},
	})
}

// Ten candidates that couldn't be written one after the other, and fifty that came to nothing, end the plan.
func TestACanaryIsGivenUp(t *testing.T) {
	for name, tc := range map[string]struct {
		reason            string
		failed, unhealthy int
		first             []TargetView
		want              string
	}{
		"nine failed": {reason: "another is drawn", failed: 9, want: v1alpha1.ReasonWaveInProgress},
		"ten failed": {reason: "the fix is at fault", failed: v1alpha1.MaxCanaryFailures,
			want: v1alpha1.ReasonNoViableCanary},
		"forty-nine weren't well": {reason: "another is drawn", unhealthy: maxCandidates - 1,
			want: v1alpha1.ReasonWaveInProgress},
		"fifty weren't well": {reason: "the plan is too old", unhealthy: maxCandidates,
			want: v1alpha1.ReasonNoViableCanary},
		"forty-eight and the first weren't well": {reason: "another is drawn", unhealthy: maxCandidates - 2,
			first: []TargetView{target(0, skipped, because(v1alpha1.ReasonUnhealthyBefore))},
			want:  v1alpha1.ReasonWaveInProgress},
		"ten failed, and one couldn't be reached": {reason: "the fix is at fault", failed: v1alpha1.MaxCanaryFailures,
			first: []TargetView{target(0, failed, because(v1alpha1.ReasonRetriesExhausted))},
			want:  v1alpha1.ReasonNoViableCanary},
		"fifty came to nothing": {reason: "both count", failed: 1, unhealthy: maxCandidates - 1,
			want: v1alpha1.ReasonNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			targets := slices.Clone(tc.first)
			for range tc.failed {
				targets = append(targets, target(0, failed, because(v1alpha1.ReasonAdmissionDenied)))
			}
			if tc.want == v1alpha1.ReasonNoAnswer {
				targets[0].Reason = v1alpha1.ReasonRetriesExhausted
			}
			for i := range tc.unhealthy {
				targets = append(targets, target(int32(i%2)+1, pending, because(v1alpha1.ReasonUnhealthyBefore)))
			}
			targets = append(targets, target(2, pending))
			intent, err := Step(situation(v1alpha1.PhaseApplying, 0, targets...))
			if err != nil || intent.Reason != tc.want {
				t.Errorf("%s: got %s, %v, want %s", tc.reason, told(intent), err, tc.want)
			}
		})
	}
}
