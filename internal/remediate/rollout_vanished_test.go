// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/history"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// The scenarios of this file are those in which objects that were written vanish,
// or are taken away from the fix.

func vanishScenarios() map[string]scenario {
	gone := behaviour{Says: "is deleted 10s after its write", GoneAt: 10 * time.Second}
	fought := behaviour{Says: "is set back 10s after its write", SetBackAt: 10 * time.Second}
	clean := behaviour{Says: "is clean by then", Skips: v1alpha1.ReasonAlreadyClean}
	return map[string]scenario{
		"canary-gone": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary is deleted in its soak: that is a failure, and no other is drawn.",
			fleet:  newFleet(10).at(map[int]behaviour{0: gone})},
		"canary-gone-of-two": {ends: v1alpha1.PhaseRolledBack,
			reason: "One of two canaries is deleted in its soak: the other is set back.",
			fleet:  newFleet(10).with(canarySize(2)).at(map[int]behaviour{1: gone})},
		"canary-gone-held": {ends: v1alpha1.PhaseRolledBack,
			reason: "The canary is deleted, and failures are a person's to decide: the plan is held, and then ended.",
			fleet:  newFleet(10).with(holds).at(map[int]behaviour{0: gone}), set: abortedFrom(time.Minute)},
		"canary-gone-in-flight": {ends: v1alpha1.PhaseRolledBack,
			reason: "The answer to the canary's write is lost, and then the object is gone: it may have been the " +
				"write.",
			fleet: newFleet(10).at(
				map[int]behaviour{0: {Says: "has stored the write, and is deleted at once", Answer: "landed",
					GoneAt: time.Millisecond}})},
		"wave-loses-one": {reason: "One object of eight is deleted in its soak: it fails alone, and is counted.",
			fleet: newFleet(10).at(map[int]behaviour{4: gone})},
		"wave-loses-two": {ends: v1alpha1.PhaseRolledBack,
			reason: "Two objects of eight are deleted in their soak: the wave fails.",
			fleet:  newFleet(10).at(map[int]behaviour{4: gone, 6: gone})},
		"wave-loses-all": {ends: v1alpha1.PhaseRolledBack,
			reason: "The one object of a wave is deleted in its soak: nothing of the wave is left, so that it failed.",
			fleet:  newFleet(10).at(map[int]behaviour{1: gone})},
		"wave-set-back": {ends: v1alpha1.PhaseAborted,
			reason: "The one object of a wave is set back by somebody else: nothing was verified, and no other wave " +
				"begins.",
			fleet: newFleet(10).at(map[int]behaviour{1: fought})},
		"canary-comes-to-nothing": {ends: v1alpha1.PhaseAborted,
			reason: "One candidate after the other is clean by its turn: after fifty no more are drawn, whatever the " +
				"reason.",
			fleet: newFleet(120).every(clean)},
	}
}

// checkVanished: what was written and is gone is never passed over in a canary,
// and no wave is written after one of which nothing was verified.
func (r *rules) checkVanished(s simStep) {
	o := s.Observation
	for _, t := range o.Targets {
		lost := t.Check != nil && t.Check.Result == rollout.CheckGone
		if lost && rollout.CanaryWave(o.Spec.Plan, t.Wave) && o.Abort == "" &&
			s.Intent.Phase != v1alpha1.PhaseRollingBack && s.Intent.Phase != v1alpha1.PhaseHeld {
			r.sim.fault("%s of the canary is gone after its write, and the plan goes on as %s", t.Object.String(),
				s.Intent.Phase)
		}
	}
	if len(s.Intent.Write) == 0 {
		return
	}
	written, done := map[int32]bool{}, map[int32]bool{}
	for i, t := range s.Before {
		written[t.Wave] = written[t.Wave] || r.sim.objects[i].fixes > 0
		done[t.Wave] = done[t.Wave] || t.State == v1alpha1.TargetDone
	}
	for wave := range written {
		if wave < o.Status.Wave && written[wave] && !done[wave] {
			r.sim.fault("wave %d is written, though nothing of wave %d was verified", o.Status.Wave, wave)
		}
	}
}

// endOfVanished: what was written and is gone before its soak ended is told as a
// failure, unless its wave was being undone or ended by then.
func (r *rules) endOfVanished(b *record.Records) {
	for i, obj := range r.sim.objects {
		rec := b.Record(i)
		if obj.fixes > 0 && rec.State == v1alpha1.TargetSkipped && r.sim.rem.Status.Phase == v1alpha1.PhaseSucceeded {
			r.sim.fault("%s was written and is told as %s (%s)", obj.ref.String(), rec.State, rec.Reason)
		}
	}
}

// Whoever makes an object again that vanished after our write gives it another
// UID: the wait goes with its place.
func TestObjectsThatVanishWaitByTheirPlace(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	h, b := history.New(), fixtest.One(v1alpha1.TargetFailed)
	b.Record(0).Reason = v1alpha1.ReasonVanished
	h.Remember(fixtest.Ended(now), b, "r1", now)
	again := b.Target(0).Object
	again.UID = "another"
	if !h.Waiting(again, now.Add(time.Minute)) {
		t.Error("an object that vanished and was made again is planned again at once")
	}
	again.Name = "other"
	if h.Waiting(again, now.Add(time.Minute)) {
		t.Error("an object of another name waits for it")
	}
}
