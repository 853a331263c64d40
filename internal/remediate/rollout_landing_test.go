// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The scenarios of this file are those in which it isn't known for a while whose
// what an object holds is.

func landingScenarios() map[string]scenario {
	late := behaviour{Says: "loses the answer, and stores the write 40s later", Answer: "late",
		LateBy: 40 * time.Second}
	lost := behaviour{Says: "loses the write", Answer: "lost"}
	lastly := late
	lastly.OptsOutAt = time.Second
	return map[string]scenario{
		"late-write-aborted": {ends: v1alpha1.PhaseRolledBack,
			reason: "A person ends the plan while a write is under way: the plan waits until it arrives, and " +
				"undoes it.",
			fleet: newFleet(3).at(map[int]behaviour{0: late}),
			set:   all(closedBetween(time.Second, time.Hour, breakerGate()), abortedFrom(3*time.Second))},
		"lost-write-aborted": {chance: true, ends: v1alpha1.PhaseAborted, reason: "A person ends the plan while " +
			"nobody knows whether a write is under way: the plan waits until none can be.",
			fleet: newFleet(3).at(map[int]behaviour{0: lost}),
			set:   all(closedBetween(time.Second, time.Hour, breakerGate()), abortedFrom(3*time.Second))},
		"late-write-stopped": {ends: v1alpha1.PhaseSuperseded,
			reason: "The policy changes while a write is under way: the plan waits until it arrives, and verifies it.",
			fleet:  newFleet(3).at(map[int]behaviour{0: late}),
			set:    stoppedFrom(time.Second, "policy tags was deleted")},
		"late-write-gated": {
			reason: "The gate closes while a write is under way: the plan isn't held before it has arrived and was " +
				"verified.",
			fleet: newFleet(3).at(map[int]behaviour{0: late}),
			set:   closedBetween(time.Second, 10*time.Minute, breakerGate())},
		"late-write-opted-out": {reason: "An object opts out while a write to it is under way: it is left alone only " +
			"once none is. What arrives is verified.",
			fleet: newFleet(3).at(map[int]behaviour{0: lastly})},
		"gate-closes-between": {reason: "The kill switch is thrown between the computing of the second wave's fixes " +
			"and their writes: what isn't written by then waits.",
			fleet: newFleet(4).with(concurrency(2)).at(
				map[int]behaviour{2: {Says: "is computed, and then the gate closes for 5m",
					ShutBetween: 5 * time.Minute}})},
		"opts-out-between": {reason: "The first candidate opts out between the computing of its fix and the write: " +
			"nothing is sent, and another is drawn.",
			fleet: newFleet(3).at(
				map[int]behaviour{0: {Says: "opts out between the computing of its fix and the write",
					LeavesBetween: true}})},
		"beaten": {reason: "Somebody makes the very edit of the fix just before our write, which is refused: it is " +
			"theirs, and never undone.",
			fleet: newFleet(10).also(
				0, behaviour{Says: "is edited alike by somebody just before our write", Beaten: true}).
				also(1, behaviour{Says: "crashes at once", WorsensAt: time.Second}), ends: v1alpha1.PhaseRolledBack},
	}
}
