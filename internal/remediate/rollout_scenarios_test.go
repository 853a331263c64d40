// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// scenarios are the rollouts that testdata/rollout tells.
func scenarios() map[string]scenario {
	all := map[string]scenario{}
	for _, group := range []map[string]scenario{goodScenarios(), failingScenarios(), canaryScenarios(), heldScenarios(),
		oddScenarios(),
		approvalScenarios(), abortScenarios(), pauseScenarios(), holdScenarios(), undoAllScenarios(), undoScenarios(),
		budgetScenarios(), metricScenarios(), stageScenarios(), vanishScenarios(), outageScenarios(),
		landingScenarios(), sharedScenarios(), servedScenarios()} {
		for name, sc := range group {
			all[name] = sc
		}
	}
	return all
}

func goodScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	return map[string]scenario{
		"good-1":  {reason: "A single target is a canary alone.", fleet: newFleet(1).every(well)},
		"good-2":  {reason: "Two targets: a canary, then the other.", fleet: newFleet(2).every(well)},
		"good-10": {reason: "Ten targets, all of them well.", fleet: newFleet(10).every(well)},
		"good-30": {reason: "Thirty targets, five at a time.", fleet: newFleet(30).every(well).with(concurrency(5))},
		"good-500": {reason: "Five hundred targets, told by their numbers.",
			fleet: newFleet(500).every(well).with(concurrency(25))},
		"dry-run": {ends: v1alpha1.PhasePreviewed,
			reason: "In mode DryRun every fix is tried and nothing is written; API errors are tried again.",
			fleet: newFleet(10).with(dryRun).with(concurrency(4)).at(map[int]behaviour{
				1: {Says: "meets two API errors", PreErrors: 2},
				3: {Says: "has opted out", Skips: v1alpha1.ReasonOptOut},
				6: {Says: "can't be fixed", Refuses: v1alpha1.ReasonFixIneffective}})},
		"dry-run-policy-changes": {ends: v1alpha1.PhaseSuperseded,
			reason: "The policy changes while the fixes are being tried.",
			fleet:  newFleet(4).with(dryRun).at(map[int]behaviour{2: {Says: "meets two API errors", PreErrors: 2}}),
			set:    stoppedFrom(time.Second, "policy tags changed from revision r1 to r2; a new plan follows")},
	}
}

func failingScenarios() map[string]scenario {
	sick := behaviour{Says: "never becomes healthy after its write", Heals: never}
	return map[string]scenario{
		"canary-never-healthy": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary isn't healthy again within the deadline: it is undone, and nothing else is touched.",
			fleet:  newFleet(10).at(map[int]behaviour{0: sick})},
		"canary-worsens": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary's health gets worse for good: it is undone at once.",
			fleet: newFleet(10).at(
				map[int]behaviour{0: {Says: "crashes 20s after its write", WorsensAt: 20 * time.Second}})},
		"wave-2-fails": {ends: v1alpha1.PhaseRolledBack,
			reason: "A target of wave 2 fails: that wave alone is undone, in reverse, and the earlier ones stay fixed.",
			fleet: newFleet(30).with(concurrency(5)).at(
				map[int]behaviour{14: {Says: "crashes at once", WorsensAt: time.Second}})},
		"fails-while-soaking": {ends: v1alpha1.PhaseRolledBack,
			reason: "A target fails in the soak: its whole wave is undone, also what was verified before.",
			fleet: newFleet(10).with(concurrency(4)).at(
				map[int]behaviour{5: {Says: "crashes 30s after its write", WorsensAt: 30 * time.Second}})},
		"flap-in-soak": {reason: "The canary flaps in its soak: the soak begins again.",
			fleet: newFleet(2).at(
				map[int]behaviour{0: {Says: "flaps 20s after its write, for 10s", FlapAt: 20 * time.Second,
					FlapFor: 10 * time.Second}})},
		"flap-in-long-soak": {
			reason: "A soak longer than the deadline: a flap late in it begins it again, and is no reason to undo " +
				"anything.",
			fleet: newFleet(2).with(soaks(30*time.Minute, 5*time.Minute)).at(map[int]behaviour{
				0: {Says: "flaps 20m after its write, for 10s", FlapAt: 20 * time.Minute, FlapFor: 10 * time.Second}})},
		"flaps-for-ever": {ends: v1alpha1.PhaseRolledBack, reason: "A wave that never soaks is undone in the end.",
			fleet: newFleet(3).with(soaks(time.Minute, time.Minute)).at(map[int]behaviour{
				0: {Says: "flaps for 20s in every minute", FlapAt: 40 * time.Second, FlapFor: 20 * time.Second,
					FlapEvery: time.Minute}})},
		"revert-conflict": {ends: v1alpha1.PhaseRollbackIncomplete, reason: "Somebody changes a field that we have " +
			"set before it can be undone: theirs is kept, and a person is needed.",
			fleet: newFleet(10).with(canarySize(3)).at(
				map[int]behaviour{1: {Says: "is edited by somebody once the rollback begins", Edited: true}, 2: sick})},
		"undo-meets-errors": {ends: v1alpha1.PhaseRolledBack,
			reason: "API errors don't end a rollback, and neither does a closed gate or a changed policy.",
			fleet: newFleet(10).with(canarySize(2)).at(
				map[int]behaviour{0: {Says: "answers with seven API errors when it is undone", RevertErrors: 7},
					1: {Says: "crashes at once", WorsensAt: time.Second}}),
			set: func(s *simulation) {
				closedBetween(2*time.Second, time.Hour, breakerGate())(s)
				stoppedFrom(10*time.Second, "policy tags was deleted")(s)
			}},
	}
}

func canaryScenarios() map[string]scenario {
	refused := behaviour{Says: "can't be written", Refuses: v1alpha1.ReasonDryRunRefused}
	sick := behaviour{Says: "isn't healthy before", Sick: true}
	tenRefused := map[int]behaviour{}
	for i := range 10 {
		tenRefused[i] = refused
	}
	return map[string]scenario{
		"canary-cannot-be-written": {
			reason: "The first candidates can't be written: the next are drawn, for without a canary nothing may " +
				"begin.",
			fleet: newFleet(10).at(
				map[int]behaviour{0: refused, 1: {Says: "is denied by a webhook at the write", Denied: true},
					2: {Says: "has opted out", Skips: v1alpha1.ReasonOptOut}})},
		"no-viable-canary": {ends: v1alpha1.PhaseAborted,
			reason: "Ten candidates in a row can't be written: the fix is at fault, and the plan is given up.",
			fleet:  newFleet(30).at(tenRefused)},
		"unhealthy-canary": {
			reason: "A candidate that isn't healthy proves nothing: another is drawn, and it comes with wave 1.",
			fleet:  newFleet(10).at(map[int]behaviour{0: sick, 1: sick})},
		"no-healthy-canary": {ends: v1alpha1.PhaseAborted,
			reason: "No target is healthy: nothing can be proved, and nothing is written.",
			fleet:  newFleet(3).every(sick)},
		"canary-selector": {ends: v1alpha1.PhaseAborted,
			reason: "The canary may be drawn from two targets only, and neither can be written: the others are never " +
				"drawn.",
			fleet: newFleet(6).every(behaviour{ExcludedFromCanary: true}).also(0, refused).also(1, refused)},
		"nothing-to-do": {reason: "All targets are clean by the time of their turn.",
			fleet: newFleet(3).every(behaviour{Skips: v1alpha1.ReasonAlreadyClean})},
	}
}

func heldScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	permissions := rollout.Gate{Reason: v1alpha1.ReasonMissingPermissions,
		Message: "the controller lacks permissions: patch deployments.apps"}
	return map[string]scenario{
		"breaker-opens-mid-wave": {reason: "The breaker opens in the middle of a wave: what is written is verified " +
			"and soaked, then the plan is held, and goes on later.",
			fleet: newFleet(10).every(well).with(concurrency(3)),
			set:   closedBetween(131*time.Second, 10*time.Minute, breakerGate())},
		"permissions-missing": {
			reason: "The controller may not write yet: the plan is held before anything is done, and goes on once " +
				"it may.",
			fleet: newFleet(2).every(well), set: closedBetween(0, 7*time.Second, permissions)},
		"policy-changes-mid-wave": {ends: v1alpha1.PhaseSuperseded, reason: "The policy changes in the middle of a " +
			"wave: what is written is verified and soaked, nothing more is begun.",
			fleet: newFleet(10).every(well).with(concurrency(3)),
			set:   stoppedFrom(131*time.Second, "policy tags changed from revision r1 to r2; a new plan follows")},
		"policy-changes-first": {ends: v1alpha1.PhaseSuperseded,
			reason: "The policy changes before the plan has begun.",
			fleet:  newFleet(2), set: stoppedFrom(0, "policy tags was deleted")},
		"policy-changes-while-held": {
			ends: v1alpha1.PhaseSuperseded, reason: "The policy changes while the plan is held.", fleet: newFleet(2),
			set: func(s *simulation) {
				closedBetween(0, time.Hour, permissions)(s)
				stoppedFrom(12*time.Second, "policy tags was deleted")(s)
			}},
		"deleted-mid-flight": {ends: v1alpha1.PhaseSuperseded,
			reason: "Somebody deletes the plan while its canary is being verified.", fleet: newFleet(10).every(well),
			set: stoppedFrom(2*time.Second,
				"the Remediation is being deleted; writes in flight are verified or undone first")},
	}
}

func oddScenarios() map[string]scenario {
	return map[string]scenario{
		"left-to-owners": {reason: "Every object belongs to somebody else: the fixes are recorded for them, and " +
			"nothing is asked or waited for, the closed gate neither.",
			fleet: newFleet(3).every(behaviour{Says: "is managed by another tool", LeftTo: v1alpha1.ReasonManaged}),
			set:   closedBetween(0, never, breakerGate())},
		"outcome-unknown": {
			reason: "The answers to four writes are lost. Each is found out about from the object itself.",
			fleet: newFleet(10).with(canarySize(4)).at(map[int]behaviour{
				0: {Says: "has stored the write", Answer: "landed"},
				1: {Says: "hasn't stored the write", Answer: "lost"},
				2: {Says: "was written by somebody else", Answer: "theirs"},
				3: {Says: "would store the write 30s later, but for ours that comes first", Answer: "late",
					LateBy: 30 * time.Second}})},
		"api-errors": {
			reason: "API errors before, while and after writing are tried again; a target with too many of them " +
				"fails alone.",
			fleet: newFleet(10).with(concurrency(3)).at(map[int]behaviour{
				0: {Says: "meets two API errors, then another writer", PreErrors: 2, Conflicts: 1},
				3: {Says: "can't be read three times while it is verified", CheckErrors: 3},
				4: {Says: "meets no end of API errors", PreErrors: 100},
				7: {Says: "is deleted before its turn", GoneBefore: true}})},
		"controller-dies": {reason: "The controller dies after the intent, after the write, and before a status is " +
			"stored, and goes on from what is persisted.",
			fleet: newFleet(3), set: func(s *simulation) {
				s.crashes = map[int]bool{2: true, 6: true, 7: true, 9: true, 41: true, 42: true}
			}},
	}
}
