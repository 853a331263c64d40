// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// vanishShare is the share of a wave's written targets, one in so many, that may
// be gone before their soak has passed without the wave failing for it: in a large
// fleet people delete things all the time. A canary has no such share.
const vanishShare = 10

// vanished are the targets that were written and are gone, or replaced, before
// their soak has passed, when that speaks against the fix: each of a canary, and
// in other waves more than one in vanishShare of what was written, or all of it.
func (o Observation) vanished(m Members) []Mark {
	var gone []Mark
	left := 0
	for _, i := range slices.Concat(m.Applied, m.Verified) {
		if c := o.Targets[i].Check; c != nil && c.Result == CheckGone {
			gone = append(gone, Mark{Target: i, State: o.Targets[i].State, Reason: v1alpha1.ReasonVanished,
				Message: c.Message})
		} else {
			left++
		}
	}
	if len(gone) == 0 {
		return nil
	}
	before := o.lostIn(o.Status.Wave, v1alpha1.ReasonVanished)
	total := len(gone) + before
	over := total > max(1, (total+left)/vanishShare)
	nothingLeft := left == 0 && !m.Pending() && len(m.Intents) == 0
	if CanaryWave(o.Spec.Plan, o.Status.Wave) || over || nothingLeft {
		return gone
	}
	return nil
}

// lostIn counts the targets of a wave that were written and then lost for one of
// the reasons.
func (o Observation) lostIn(wave int32, reasons ...string) int {
	n := 0
	for _, t := range o.Targets {
		if t.Wave == wave && t.State == v1alpha1.TargetFailed && slices.Contains(reasons, t.Reason) {
			n++
		}
	}
	return n
}

// unverified says whether the wave at work was written, or may have been, and nothing of
// what was written is left: then nobody knows whether it did harm, and no other may begin.
// A target fails for a conflict only where a recorded write was in flight.
func (o Observation) unverified() bool {
	return o.lostIn(o.Status.Wave, v1alpha1.ReasonVanished, v1alpha1.ReasonFighting, v1alpha1.ReasonConflict) > 0 &&
		!slices.ContainsFunc(o.Targets, func(t TargetView) bool {
			return t.Wave == o.Status.Wave && t.State == v1alpha1.TargetDone
		})
}
