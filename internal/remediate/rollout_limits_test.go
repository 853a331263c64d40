// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// The scenarios of this file are those in which budgets, metrics and stages have
// their say.

func withBudget(inAll, perNamespace int32) func(*simStrategy) {
	return func(r *simStrategy) { r.MaxTotalInFlight, r.MaxPerNamespace = inAll, perNamespace }
}

// another is another plan at work, with so many targets in flight in team-a in a
// span of time.
func another(from, to time.Duration, n int) func(*simulation) {
	return func(s *simulation) {
		s.others = func(s *simulation) []canary.PlanAtWork {
			if at := s.since(); at < from || at >= to {
				return nil
			}
			return []canary.PlanAtWork{{Name: "limits-77", InFlight: map[string]int{"team-a": n}}}
		}
	}
}

func budgetScenarios() map[string]scenario {
	slow := behaviour{Heals: 10 * time.Second}
	return map[string]scenario{
		"budget": {reason: "Two targets may be in flight, whatever maxInFlight says.",
			fleet: newFleet(10).every(slow).with(withBudget(2, 0))},
		"budget-per-namespace": {reason: "One target may be in flight in each namespace.",
			fleet: newFleet(10).every(slow).with(withBudget(0, 1))},
		"budget-taken-first": {
			reason: "Another plan has taken all the room: nothing is begun until it gives some back.",
			fleet:  newFleet(4).every(slow).with(withBudget(3, 0)), set: another(0, 11*time.Second, 3)},
		"budget-taken-mid-wave": {
			reason: "Another plan takes all the room in the middle of a wave: what is verified soaks, and the rest " +
				"waits.",
			fleet: newFleet(6).every(slow).with(withBudget(2, 0)), set: another(75*time.Second, 10*time.Minute, 2)},
		"budget-rollback": {ends: v1alpha1.PhaseRolledBack,
			reason: "Metrics say that a wave of five does harm: it is " +
				"undone as slowly as it was written, two targets at a time, each well again before the next.",
			fleet: newFleet(6).every(behaviour{Heals: 3 * time.Second, Recovers: 10 * time.Second}).with(
				withBudget(2, 0)).with(measured).with(soaks(20*time.Second, 10*time.Minute)),
			set: answers(75*time.Second, time.Hour, v1alpha1.AnalysisFailed, "errors: 0.31 isn't <= 0.01")},
		"budget-rollback-taken": {ends: v1alpha1.PhaseRolledBack,
			reason: "Another plan has all the room while a wave " +
				"is undone: one target at a time goes on all the same, and one that doesn't get well holds up the " +
				"next " +
				"for its deadline only.",
			fleet: newFleet(4).every(behaviour{Heals: 3 * time.Second, Recovers: 10 * time.Second}).also(
				2, behaviour{Says: "isn't well again after its undoing", Heals: 3 * time.Second, Recovers: never}).
				with(withBudget(2, 0)).with(measured).with(soaks(20*time.Second, 3*time.Minute)),
			set: all(another(72*time.Second, time.Hour, 2),
				answers(75*time.Second, time.Hour, v1alpha1.AnalysisFailed, "errors: 0.31 isn't <= 0.01"))},
		"budget-unreadable": {ends: v1alpha1.PhaseSuperseded, reason: "A budget that can't be read allows nothing.",
			fleet: newFleet(2).with(concurrency(0)),
			set:   stoppedFrom(12*time.Second, "policy tags changed from revision r1 to r2; a new plan follows")},
		"namespace-barred": {reason: "The breaker of a namespace opens: its targets wait, the others are fixed, and " +
			"then the plan is held for what is left.",
			fleet: newFleet(10).every(slow).with(canarySize(2)), set: func(s *simulation) {
				s.barred = func(s *simulation, t rollout.TargetView) (string, string) {
					if at := s.since(); at > time.Minute && at < 10*time.Minute && t.Object.Namespace == "team-a" {
						return "circuit breaker namespace-team-a is open", ""
					}
					return "", ""
				}
			}},
	}
}

func measured(r *simStrategy) {
	r.Metrics = []v1alpha1.PlannedMetric{{Name: "errors", Query: "errors", SuccessCondition: "sample <= baseline"}}
}

// answers makes metrics say something in a span of time; at other times a wave
// passes 40s after its soak began.
func answers(from, to time.Duration, verdict v1alpha1.AnalysisVerdict, message string) func(*simulation) {
	return func(s *simulation) {
		s.metrics = func(s *simulation) rollout.Analysis {
			if at := s.since(); at >= from && at < to {
				return rollout.Analysis{Verdict: verdict, Message: message, Wait: 5 * time.Second}
			}
			if since := s.rem.Status.HealthyTime; since != nil && s.clock.Now().Sub(since.Time) >= 40*time.Second {
				return rollout.Analysis{Verdict: v1alpha1.AnalysisPassed, Message: "errors: 3 of 3 samples passed"}
			}
			return rollout.Analysis{Verdict: v1alpha1.AnalysisRunning, Message: "errors: 1 of 3 samples passed",
				Wait: 7 * time.Second}
		}
	}
}

func metricScenarios() map[string]scenario {
	silent := answers(0, 0, "", "")
	down := "errors: prometheus can't be reached"
	short := soaks(20*time.Second, 10*time.Minute)
	return map[string]scenario{
		"metrics-pass": {
			reason: "Metrics are asked before the first write of each wave, and must have passed when its soak is " +
				"over.",
			fleet: newFleet(2).with(measured).with(short), set: silent},
		"metrics-fail": {ends: v1alpha1.PhaseRolledBack,
			reason: "Metrics say that the canary does harm: it is undone, though it looks healthy.",
			fleet:  newFleet(3).with(measured),
			set:    answers(20*time.Second, time.Hour, v1alpha1.AnalysisFailed, "errors: 0.31 isn't <= 0.01")},
		"metrics-fail-held": {reason: "Metrics say that the canary does harm, and onFailure is Hold; a person finds " +
			"another cause and asks once more.",
			fleet: newFleet(2).with(measured).with(holds),
			set: all(answers(20*time.Second, time.Minute, v1alpha1.AnalysisFailed, "errors: 0.31 isn't <= 0.01"),
				retriedFrom(2*time.Minute, 1))},
		"metrics-silent-first": {
			reason: "Metrics don't answer before the first write: nothing is written until they do.",
			fleet:  newFleet(2).with(measured), set: answers(0, 23*time.Second, v1alpha1.AnalysisInconclusive, down)},
		"metrics-silent-in-soak": {reason: "Metrics give no answer in the soak: the wave is held, looked at all the " +
			"while, and soaks anew once they answer.",
			fleet: newFleet(2).with(measured),
			set:   answers(20*time.Second, 3*time.Minute, v1alpha1.AnalysisInconclusive, down)},
		"metrics-silent-and-fails": {
			ends:   v1alpha1.PhaseRolledBack,
			reason: "The canary crashes while it is held for metrics: it is undone at once.",
			fleet: newFleet(2).with(measured).at(
				map[int]behaviour{0: {Says: "crashes 1m after its write", WorsensAt: time.Minute}}),
			set: answers(20*time.Second, time.Hour, v1alpha1.AnalysisInconclusive, down)},
		"metrics-silent-and-flaps": {reason: "The canary flaps after hours of being held for metrics: it is verified " +
			"anew, and not blamed for the hours.",
			fleet: newFleet(2).with(measured).at(
				map[int]behaviour{0: {Says: "flaps 3h after its write, for 20s", FlapAt: 3 * time.Hour,
					FlapFor: 20 * time.Second}}),
			set: answers(20*time.Second, 3*time.Hour+10*time.Second, v1alpha1.AnalysisInconclusive, down)},
		"metrics-silent-and-stopped": {ends: v1alpha1.PhaseRolledBack, reason: "The policy changes while a wave is " +
			"held for metrics: what nothing has proved is undone, and counts as no failure.",
			fleet: newFleet(2).with(measured),
			set: all(answers(20*time.Second, time.Hour, v1alpha1.AnalysisInconclusive, down),
				stoppedFrom(time.Minute, "policy tags changed from revision r1 to r2; a new plan follows"))},
		"metrics-silent-and-gone": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary is deleted while it is held for metrics: that is a failure, whatever they would say.",
			fleet: newFleet(3).with(measured).at(
				map[int]behaviour{0: {Says: "is deleted 30s after its write", GoneAt: 30 * time.Second}}),
			set: answers(20*time.Second, 2*time.Minute, v1alpha1.AnalysisInconclusive, down)},
	}
}

func stageScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	waves := map[string][]int32{"staging": {1, 2}, "prod": {1, 2, 4}, "lab": {1}}
	refused := behaviour{Says: "can't be written", Refuses: v1alpha1.ReasonDryRunRefused}
	return map[string]scenario{
		"stages": {reason: "Staging first, then production, each with a canary and waves of its own.",
			fleet: newFleet(10).every(well).staged(waves, "staging", "prod")},
		"stages-canary-fails": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary of production fails: staging stays fixed, and the breakers count a canary.",
			fleet: newFleet(10).staged(waves, "staging", "prod").at(
				map[int]behaviour{3: {Says: "crashes at once", WorsensAt: time.Second}})},
		"stages-canary-drawn": {
			reason: "The first canaries of production can't be written, or aren't healthy: others of production are " +
				"drawn.",
			fleet: newFleet(10).staged(waves, "staging", "prod").at(
				map[int]behaviour{3: refused, 4: {Says: "isn't healthy before", Sick: true}})},
		"stages-no-canary": {ends: v1alpha1.PhaseAborted,
			reason: "No target of the lab can be written: production isn't begun, and staging stays fixed.",
			fleet:  newFleet(11).staged(waves, "staging", "lab", "prod").at(map[int]behaviour{3: refused})},
		"stages-sick-canary": {ends: v1alpha1.PhaseAborted,
			reason: "The only target of the lab isn't healthy: it proves nothing, and production isn't begun.",
			fleet: newFleet(11).staged(waves, "staging", "lab", "prod").at(
				map[int]behaviour{3: {Says: "isn't healthy before", Sick: true}})},
		"stages-nothing-to-do": {reason: "The only target of the lab is clean by the time of its turn: production " +
			"begins, with a canary of its own.",
			fleet: newFleet(11).every(well).staged(waves, "staging", "lab", "prod").also(
				3, behaviour{Says: "is clean by then", Skips: v1alpha1.ReasonAlreadyClean})},
	}
}
