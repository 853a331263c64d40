// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

func TestVanishedObjectsOfAWave(t *testing.T) {
	cases := map[string]struct {
		reason                      string
		wave                        int32
		gone, left, before, pending int
		want                        int
	}{
		"none is gone":        {reason: "nothing to say", wave: 1, left: 5},
		"one of a canary":     {reason: "a canary has no share", wave: 0, gone: 1, left: 9, want: 1},
		"one of a large wave": {reason: "people delete things", wave: 1, gone: 1, left: 99},
		"ten of a hundred":    {reason: "a tenth may go", wave: 1, gone: 10, left: 90},
		"eleven of a hundred": {reason: "more than a tenth", wave: 1, gone: 11, left: 89, want: 11},
		"those that were told before count": {reason: "they went one after the other", wave: 1, gone: 1, before: 10,
			left: 89, want: 1},
		"the last of a wave":  {reason: "nothing is left to verify", wave: 1, gone: 1, want: 1},
		"the first of a wave": {reason: "others are still to be written", wave: 1, gone: 1, pending: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := Observation{Spec: v1alpha1.RemediationSpec{
				Plan: v1alpha1.RemediationPlan{Waves: fixture.PlannedWaves(10, 100)}},
				Status: v1alpha1.RemediationStatus{Wave: tc.wave}}
			add := func(n int, v TargetView) {
				v.Wave = tc.wave
				for range n {
					o.Targets = append(o.Targets, v)
				}
			}
			add(tc.gone, TargetView{State: v1alpha1.TargetApplied,
				Check: &Check{CheckGone, v1alpha1.ReasonVanished, "gone"}})
			add(tc.left, TargetView{State: v1alpha1.TargetVerified, Check: &Check{Result: CheckPassed}})
			add(tc.before, TargetView{State: v1alpha1.TargetFailed, Reason: v1alpha1.ReasonVanished})
			add(tc.pending, TargetView{State: v1alpha1.TargetPending})
			if got := len(o.vanished(o.Members(tc.wave))); got != tc.want {
				t.Errorf("%s: %d speak against the fix, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// What nothing was proven of speaks neither for nor against the fix: its wave is undone,
// and no breaker counts it.
func TestAWaveThatNothingProvesIsNoFailureOfTheFix(t *testing.T) {
	o := Observation{Targets: []TargetView{{Object: v1alpha1.ObjectReference{Namespace: "shop", Name: "db"}}}}
	f := o.verificationFailed(
		[]Mark{{Target: 0, State: v1alpha1.TargetApplied, Reason: v1alpha1.ReasonHealthUnknown,
			Message: "scaled to 0"}})
	if !f.unanswered || f.reason != v1alpha1.ReasonNoAnswer {
		t.Errorf("the breakers count it: %+v", f)
	}
	if late := (TargetView{Check: &Check{Reason: v1alpha1.ReasonHealthUnknown}}).
		lateness(); late != v1alpha1.ReasonHealthUnknown {
		t.Errorf("at its deadline it is %s, want HealthUnknown", late)
	}
}
