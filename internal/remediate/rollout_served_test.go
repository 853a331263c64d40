// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The scenarios of this file are those in which the API server doesn't serve the kind
// of an object for a while, or any more.

func servedScenarios() map[string]scenario {
	short := soaks(20*time.Second, 30*time.Second)
	away := func(from, to time.Duration) []span { return []span{{from, to}} }
	replaced := behaviour{Says: "its kind isn't served for 20s", Unserved: away(0, 20*time.Second)}
	soaking := behaviour{Says: "its kind isn't served from 5s to 25s", Unserved: away(5*time.Second, 25*time.Second)}
	uninstalled := behaviour{Says: "its kind isn't served from 5s on", Unserved: away(5*time.Second, never)}
	unwritten := behaviour{Says: "its kind isn't served", Unserved: away(0, never)}
	unknown := behaviour{Says: "loses the write, and then its kind isn't served", Answer: "lost",
		Unserved: away(time.Millisecond, never)}
	return map[string]scenario{
		"kind-replaced-first": {
			reason: "The canary's kind is being installed anew when its turn comes: it waits, and is fixed.",
			fleet:  newFleet(3).with(short).at(map[int]behaviour{0: replaced})},
		"kind-replaced-in-soak": {
			reason: "The canary's kind is installed anew while it soaks: it is not gone, and soaks anew.",
			fleet:  newFleet(3).with(short).at(map[int]behaviour{0: soaking})},
		"kind-away-before-writes": {ends: v1alpha1.PhaseAborted,
			reason: "No target's kind is served within the deadline: the plan ends without blaming the fix.",
			fleet:  newFleet(3).with(short).every(unwritten)},
		"kind-uninstalled": {ends: v1alpha1.PhaseRollbackIncomplete, reason: "The canary's kind is uninstalled for " +
			"good in its soak: the undoing ends too, and says what wasn't undone.",
			fleet: newFleet(3).with(short).at(map[int]behaviour{0: uninstalled})},
		"kind-uninstalled-unknown": {ends: v1alpha1.PhaseRollbackIncomplete, reason: "The answer to the canary's " +
			"write is lost, and then its kind isn't served any more: the wave is undone once the write can't arrive " +
			"any more.",
			fleet: newFleet(3).with(short).at(map[int]behaviour{0: unknown})},
	}
}

// serves says whether the API server serves an object's kind now.
func (s *simulation) serves(obj *simObject) bool { return !within(obj.Unserved, s.since()) }

// checkServed: an object whose kind isn't served is neither gone nor vanished, and is
// given up only when its time is up.
func (r *rules) checkServed(s simStep) {
	for i, after := range s.After {
		obj, before := r.sim.objects[i], s.Before[i]
		if r.sim.serves(obj) || !obj.exists(s.Observation.Now) || after.State == before.State {
			continue
		}
		if after.Reason == v1alpha1.ReasonGone || after.Reason == v1alpha1.ReasonVanished ||
			after.State == v1alpha1.TargetReverted {
			r.sim.fault("%s is told as %s (%s), though its kind isn't served and it is there", after.Object.String(),
				after.State, after.Reason)
		}
	}
}
