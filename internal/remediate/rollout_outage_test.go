// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The scenarios of this file are those in which somebody's webhook, or the API,
// doesn't answer.
func outageScenarios() map[string]scenario {
	short := soaks(20*time.Second, 30*time.Second)
	return map[string]scenario{
		"outage-before-writes": {ends: v1alpha1.PhaseAborted, reason: "A webhook of somebody else's doesn't answer " +
			"any dry run: no canary can be had, and the plan ends without blaming the fix.",
			fleet: newFleet(3).every(behaviour{PreErrors: 1000})},
		"outage-of-one-kind": {reason: "The webhook is asked for one object only: that one fails, the rest is fixed.",
			fleet: newFleet(4).with(short).at(
				map[int]behaviour{2: {Says: "its webhook doesn't answer", PreErrors: 1000}})},
		"outage-while-verifying": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary can't be read after its write: " +
				"it is undone after twice the deadline, and counts as no failure.",
			fleet: newFleet(3).with(short).at(
				map[int]behaviour{0: {Says: "can't be read after its write", CheckErrors: 1 << 20}})},
		"unhealthy-before": {ends: v1alpha1.PhaseRolledBack,
			reason: "One object of a wave was in progress before its " +
				"write, and still is at its deadline: that is no proof, so the wave is undone, and no breaker counts " +
				"it.",
			fleet: newFleet(4).with(short).at(
				map[int]behaviour{2: {Says: "is in progress before its write, and for ever", Stuck: true}})},
		"outage-that-passes": {
			reason: "The canary can't be read for longer than the deadline, and is well when it can be again.",
			fleet: newFleet(2).with(short).at(
				map[int]behaviour{0: {Says: "can't be read for 40 looks", CheckErrors: 40}})},
	}
}
