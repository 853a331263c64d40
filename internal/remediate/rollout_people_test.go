// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/recorded"
)

// The scenarios of this file are those in which people have their say.

// all does several things to a simulation.
func all(set ...func(*simulation)) func(*simulation) {
	return func(s *simulation) {
		for _, do := range set {
			do(s)
		}
	}
}

// says changes what people have written into the plan's spec, from a time on.
func says(from time.Duration, change func(*v1alpha1.RemediationSpec)) func(*simulation) {
	return func(s *simulation) {
		before := s.spec
		s.spec = func(s *simulation, spec *v1alpha1.RemediationSpec) {
			before(s, spec)
			was := spec.DesiredState
			if s.since() >= from {
				change(spec)
			}
			if was == v1alpha1.StateUndone || was == v1alpha1.StateAborted && !spec.WantsUndone() {
				spec.DesiredState = was // the schema lets nobody take it back
			}
		}
	}
}

func abortedFrom(from time.Duration) func(*simulation) {
	return says(from, func(spec *v1alpha1.RemediationSpec) { spec.DesiredState = v1alpha1.StateAborted })
}

func retriedFrom(from time.Duration, n int32) func(*simulation) {
	return says(from, func(spec *v1alpha1.RemediationSpec) { spec.RetryToken = strings.Repeat("again", int(n)) })
}

func pausedBetween(from, to time.Duration) func(*simulation) {
	return all(says(from, func(spec *v1alpha1.RemediationSpec) { spec.DesiredState = v1alpha1.StatePaused }),
		says(to, func(spec *v1alpha1.RemediationSpec) { spec.DesiredState = v1alpha1.StateRunning }))
}

// pausedUntil pauses the plan from a time on, and names the end of the pause.
func pausedUntil(from, end time.Duration) func(*simulation) {
	until := &metav1.Time{Time: simStart().Add(end)}
	return all(says(from, func(spec *v1alpha1.RemediationSpec) {
		spec.DesiredState, spec.PausedUntilTime = v1alpha1.StatePaused, until
	}), asked(v1alpha1.RequestRecord{Action: v1alpha1.ActionPause, User: "ann", Reason: "INC-42", UntilTime: until}))
}

// asked has admission record a request.
func asked(r v1alpha1.RequestRecord) func(*simulation) {
	return func(s *simulation) { recorded.Requests(s.rem, r) }
}

// answered answers a plan in mode Manual, from a time on; it is overdue after 30s.
func answered(from time.Duration, decision v1alpha1.ApprovalDecision) func(*simulation) {
	return func(s *simulation) {
		s.approval = func(s *simulation) rollout.Approval {
			if s.since() < from {
				return rollout.Approval{Message: "approve it with spec.approval",
					Overdue: s.since() >= 30*time.Second}
			}
			return rollout.Approval{Decision: decision, Message: "ada said " + string(decision) + ": seen in staging"}
		}
	}
}

func manual(r *simStrategy) { r.Mode = v1alpha1.RemediationManual }

// approvalAfter has people approve what follows a step.
func approvalAfter(step int) func(*simStrategy) {
	return func(r *simStrategy) { r.Steps[step].Approval = v1alpha1.ApprovalRequired }
}

func holds(r *simStrategy) { r.OnFailure = v1alpha1.FailureHold }

func undoesAll(r *simStrategy) { r.RollbackScope = v1alpha1.RollbackAll }

// nightly opens a window at a time of the day, in Berlin.
func nightly(schedule string, long time.Duration) func(*simStrategy) {
	return func(r *simStrategy) {
		r.Windows = []v1alpha1.PlannedWindow{
			{Schedule: schedule, Duration: metav1.Duration{Duration: long}, TimeZone: "Europe/Berlin"}}
	}
}

func approvalScenarios() map[string]scenario {
	return map[string]scenario{
		"manual-approved": {
			reason: "A plan in mode Manual waits for a yes. Nobody answers for a while; then somebody does.",
			fleet:  newFleet(2).with(manual), set: answered(42*time.Second, v1alpha1.DecisionApprove)},
		"manual-rejected": {ends: v1alpha1.PhaseAborted, reason: "A person says no: nothing is written.",
			fleet: newFleet(3).with(manual), set: answered(12*time.Second, v1alpha1.DecisionReject)},
		"manual-policy-changes": {ends: v1alpha1.PhaseSuperseded,
			reason: "The policy changes while the plan waits for an answer.",
			fleet:  newFleet(3).with(manual),
			set: all(answered(time.Hour, v1alpha1.DecisionApprove),
				stoppedFrom(8*time.Second, "policy tags was deleted"))},
		"manual-approved-early": {
			reason: "The yes comes before the maintenance window opens: the plan is held until then.",
			fleet:  newFleet(2).with(manual).with(nightly("2 10 * * *", time.Hour)),
			set:    answered(7*time.Second, v1alpha1.DecisionApprove)},
		"step-approved": {
			reason: "The canary is fixed and soaked. Then the plan waits for a yes, in mode Automatic too, and " +
				"nobody answers in time; then somebody does.",
			fleet: newFleet(10).with(approvalAfter(0)), set: answered(3*time.Minute, v1alpha1.DecisionApprove)},
		"step-rejected": {ends: v1alpha1.PhaseAborted,
			reason: "A person says no after the canary: it stays fixed, and nothing more is written.",
			fleet:  newFleet(10).with(approvalAfter(0)), set: answered(2*time.Minute, v1alpha1.DecisionReject)},
		"step-undone": {ends: v1alpha1.PhaseRolledBack,
			reason: "A plan waits for its next wave to be approved, when a person ends it: all of it is undone.",
			fleet:  newFleet(10).with(approvalAfter(0)).with(undoesAll),
			set:    all(answered(time.Hour, v1alpha1.DecisionApprove), abortedFrom(2*time.Minute))},
	}
}

func abortScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	return map[string]scenario{
		"abort-first": {ends: v1alpha1.PhaseAborted, reason: "A person ends the plan before it has begun.",
			fleet: newFleet(3), set: abortedFrom(0)},
		"abort-dry-run": {ends: v1alpha1.PhaseAborted, reason: "A person ends a dry run.",
			fleet: newFleet(6).with(dryRun).with(concurrency(4)).at(
				map[int]behaviour{1: {Says: "meets two API errors", PreErrors: 2}}), set: abortedFrom(time.Second)},
		"abort-held": {ends: v1alpha1.PhaseAborted,
			reason: "A person ends a plan that is held, and has written nothing.",
			fleet:  newFleet(3), set: all(closedBetween(0, time.Hour, breakerGate()), abortedFrom(12*time.Second))},
		"abort-unknown-write": {ends: v1alpha1.PhaseRolledBack, reason: "A person ends the plan while nobody knows " +
			"whether a write has happened: that is found out first, then it is undone.",
			fleet: newFleet(10).with(canarySize(2)).at(
				map[int]behaviour{0: {Says: "has stored the write, and the answer is lost", Answer: "landed"}}),
			set: abortedFrom(500 * time.Millisecond)},
		"abort-verifying": {ends: v1alpha1.PhaseRolledBack,
			reason: "A person ends the plan in the middle of wave 2: that wave is undone, and counts as no failure.",
			fleet:  newFleet(10).every(well).with(concurrency(3)), set: abortedFrom(131 * time.Second)},
		"abort-soaking": {ends: v1alpha1.PhaseRolledBack,
			reason: "A person ends the plan in a soak, and wants all of it undone.",
			fleet:  newFleet(10).every(well).with(undoesAll), set: abortedFrom(90 * time.Second)},
		"abort-paused": {ends: v1alpha1.PhaseRolledBack,
			reason: "A person pauses the plan between two waves, and then ends it: all of it is undone.",
			fleet:  newFleet(10).every(well).with(undoesAll),
			set:    all(pausedBetween(30*time.Second, time.Hour), abortedFrom(80*time.Second))},
	}
}

func pauseScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	return map[string]scenario{
		"paused-mid-wave": {reason: "A person pauses the plan in the middle of a wave: what is written is verified " +
			"and soaked, then the plan is held, and goes on later.",
			fleet: newFleet(10).every(well).with(concurrency(3)), set: pausedBetween(131*time.Second, 10*time.Minute)},
		"paused-until": {reason: "A person pauses the plan until a set time: it goes on at that very time, by itself.",
			fleet: newFleet(4).every(well), set: pausedUntil(30*time.Second, 150*time.Second)},
		"paused-until-and-shortened": {reason: "A person pauses the plan for an hour, and gives the pause an earlier " +
			"end two minutes later.", fleet: newFleet(4).every(well),
			set: all(pausedUntil(30*time.Second, time.Hour), pausedUntil(2*time.Minute, 125*time.Second))},
		"paused-and-fails": {ends: v1alpha1.PhaseRolledBack,
			reason: "What was written fails while the plan is paused: it is undone all the same.",
			fleet: newFleet(4).at(
				map[int]behaviour{0: {Says: "crashes 20s after its write", WorsensAt: 20 * time.Second}}),
			set: pausedBetween(5*time.Second, time.Hour)},
		"window-closes-mid-wave": {
			reason: "The maintenance window closes in the middle of a wave: what is written is " +
				"verified and soaked; the rest waits for the next night.",
			fleet: newFleet(10).every(well).with(concurrency(3)).with(
				nightly("45 9 * * *", 17*time.Minute+15*time.Second))},
		"window-unreadable": {ends: v1alpha1.PhaseSuperseded, reason: "A window that can't be read is never open.",
			fleet: newFleet(2).with(nightly("at night", time.Hour)),
			set:   stoppedFrom(12*time.Second, "policy tags changed from revision r1 to r2; a new plan follows")},
	}
}

func holdScenarios() map[string]scenario {
	sick := behaviour{Says: "crashes 20s after its write, and is repaired by hand after 3m",
		WorsensAt: 20 * time.Second, RepairAt: 3 * time.Minute}
	return map[string]scenario{
		"hold-then-retry": {
			reason: "A canary that failed is held, and a person repairs it and asks to verify it once more.",
			fleet:  newFleet(3).with(holds).at(map[int]behaviour{0: sick}), set: retriedFrom(4*time.Minute, 1)},
		"hold-fails-again": {ends: v1alpha1.PhaseRolledBack,
			reason: "A canary that is verified once more fails once more, and counts again; then a person ends the " +
				"plan.",
			fleet: newFleet(3).with(holds).at(map[int]behaviour{0: sick}),
			set:   all(retriedFrom(time.Minute, 1), abortedFrom(2*time.Minute))},
		"hold-late": {
			reason: "A canary isn't healthy within the deadline. It is held, becomes healthy, and has a new " +
				"deadline when a person asks.",
			fleet: newFleet(3).with(holds).with(soaks(10*time.Second, time.Minute)).at(
				map[int]behaviour{0: {Says: "takes 20m to become healthy", Heals: 20 * time.Minute}}),
			set: all(retriedFrom(19*time.Minute+30*time.Second, 1), retriedFrom(25*time.Minute, 2))},
		"hold-policy-changes": {ends: v1alpha1.PhaseRolledBack,
			reason: "The policy changes while a failed wave is held: it is undone, for nobody could later.",
			fleet:  newFleet(3).with(holds).at(map[int]behaviour{0: sick}),
			set:    stoppedFrom(time.Minute, "policy tags changed from revision r1 to r2; a new plan follows")},
		"hold-breaker-open": {reason: "The breaker opens over a failed wave. The wave is repaired and passes; what " +
			"comes after it waits for the breaker.",
			fleet: newFleet(3).with(holds).at(map[int]behaviour{0: sick}),
			set:   all(closedBetween(20*time.Second, 10*time.Minute, breakerGate()), retriedFrom(4*time.Minute, 1))},
	}
}

func undoAllScenarios() map[string]scenario {
	return map[string]scenario{
		"undo-all": {ends: v1alpha1.PhaseRolledBack,
			reason: "A target of wave 2 fails, and rollbackScope is All: every write of the plan is undone, the last " +
				"first.",
			fleet: newFleet(10).with(undoesAll).with(concurrency(4)).at(
				map[int]behaviour{5: {Says: "crashes at once", WorsensAt: time.Second}})},
		"undo-all-conflict": {ends: v1alpha1.PhaseRollbackIncomplete,
			reason: "A target that was done is edited by somebody before it can be undone: theirs is kept.",
			fleet: newFleet(4).with(undoesAll).at(
				map[int]behaviour{0: {Says: "is edited by somebody once the rollback begins", Edited: true},
					3: {Says: "crashes at once", WorsensAt: time.Second}})},
		"undo-stuck": {ends: v1alpha1.PhaseRolledBack,
			reason: "A target can't be set back for minutes: people are told, and it is tried again until it works.",
			fleet: newFleet(3).at(
				map[int]behaviour{0: {Says: "crashes at once, and answers with nine API errors when it is undone",
					WorsensAt: time.Second, RevertErrors: 9}})},
	}
}

// undoneAt is when a person has an ended plan undone.
func undoneAt(at time.Duration) func(*simulation) {
	return func(s *simulation) { s.undoAt = at }
}

func undoScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	tomorrow := undoneAt(24 * time.Hour)
	return map[string]scenario{
		"undone": {ends: v1alpha1.PhaseRolledBack, reason: "A person has a plan undone that succeeded yesterday, " +
			"while it is paused, a breaker is open and no window is: every write is undone, the last first, and " +
			"counts as no failure.",
			fleet: newFleet(6).every(well).with(concurrency(2)).with(nightly("0 10 * * *", time.Hour)),
			set: all(tomorrow, closedBetween(12*time.Hour, 48*time.Hour, breakerGate()),
				pausedBetween(12*time.Hour, 48*time.Hour))},
		"undone-conflict": {ends: v1alpha1.PhaseRollbackIncomplete,
			reason: "One object was edited by somebody since, " +
				"one was deleted, and one answers with API errors: theirs is kept, and all the rest is undone.",
			fleet: newFleet(5).at(
				map[int]behaviour{0: {Says: "is edited by somebody before it is undone", Edited: true},
					2: {Says: "is deleted 10h after its write", GoneAt: 10 * time.Hour},
					4: {Says: "answers with two API errors when it is undone", RevertErrors: 2}}), set: tomorrow},
		"undone-after-rollback": {ends: v1alpha1.PhaseRolledBack,
			reason: "Wave 2 failed and was rolled back; a person has the earlier waves undone as well.",
			fleet: newFleet(10).every(well).with(concurrency(3)).also(
				8, behaviour{Says: "crashes at once", WorsensAt: time.Second}), set: tomorrow},
		"undone-after-conflict": {ends: v1alpha1.PhaseRollbackIncomplete,
			reason: "Wave 2 failed, and one of its writes couldn't be undone; a person has the earlier waves undone " +
				"as well.",
			fleet: newFleet(10).every(well).with(concurrency(3)).also(
				8, behaviour{Says: "crashes at once", WorsensAt: time.Second}).
				also(9, behaviour{Says: "is edited by somebody once the rollback begins", Edited: true}),
			set: tomorrow},
		"undone-superseded": {ends: v1alpha1.PhaseRolledBack,
			reason: "The policy changes between two waves; a person has undone what the old plan has fixed.",
			fleet:  newFleet(10).every(well),
			set: all(stoppedFrom(131*time.Second, "policy tags changed from revision r1 to r2; a new plan follows"),
				tomorrow)},
		"undone-aborted": {ends: v1alpha1.PhaseRolledBack, reason: "A person ends a plan that is paused between two " +
			"waves, and later has undone what the waves before have fixed.",
			fleet: newFleet(10).every(well),
			set:   all(pausedBetween(30*time.Second, time.Hour), abortedFrom(80*time.Second), tomorrow)},
		"undone-at-work": {ends: v1alpha1.PhaseRolledBack, reason: "A person has a plan undone while it soaks: it " +
			"ends, and all of its waves are undone though rollbackScope is Wave.",
			fleet: newFleet(10).every(well), set: all(says(150*time.Second, func(spec *v1alpha1.RemediationSpec) {
				spec.DesiredState = v1alpha1.StateUndone
			}), asked(v1alpha1.RequestRecord{Action: v1alpha1.ActionUndo, User: "ada"}))},
	}
}
