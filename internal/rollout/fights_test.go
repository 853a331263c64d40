// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// A fight is told as one, with whoever set which field back, and never as a fix that
// couldn't be written.
func TestAFightIsToldAsOne(t *testing.T) {
	fight := func(t *TargetView) {
		t.Reason, t.Message = v1alpha1.ReasonFighting, "night-job set /spec/replicas back: fix the source"
	}
	applying := func(wave int32, targets ...TargetView) Observation {
		return situation(v1alpha1.PhaseApplying, wave, targets...)
	}
	denied := because(v1alpha1.ReasonAdmissionDenied)
	runSteps(t, map[string]step{
		"the canary was set back": {
			reason: "another is drawn",
			in:     applying(0, target(0, failed, fight), target(1, pending)),
			want: "Applying w0 WaveInProgress: canary: no canary has proved anything yet: 1 fixed, and reverted in a " +
				"fight; the last fight, Deployment shop/a: night-job set /spec/replicas back: fix the source; " +
				"drawing Deployment shop/b into the canary | mark 1 Pending into w0"},
		"every candidate was set back": {
			reason: "nothing says that the fix couldn't be written",
			in:     applying(0, target(0, failed, fight), target(0, failed, fight)),
			want: "Aborted w0 LostToFights: 2 candidates in a row were fixed, and reverted in a fight, the last, " +
				"Deployment shop/b: night-job set /spec/replicas back: fix the source | failed in [\"shop\"]"},
		"most were set back": {
			reason: "the fix isn't at fault",
			in:     applying(0, target(0, failed, denied), target(0, failed, fight), target(0, failed, fight)),
			want: "Aborted w0 LostToFights: 3 candidates in a row came to nothing, 2 of them fixed, and reverted in " +
				"a fight; the last fight, Deployment shop/c: night-job set /spec/replicas back: fix the source, the " +
				"last, Deployment shop/c: night-job set /spec/replicas back: fix the source | failed in [\"shop\"]"},
		"one was set back, another couldn't be written": {
			reason: "both are told",
			in:     applying(0, target(0, failed, fight), target(0, failed, denied)),
			want: "Aborted w0 NoViableCanary: 2 candidates in a row came to nothing, 1 of them fixed, and reverted " +
				"in a fight; the last fight, Deployment shop/a: night-job set /spec/replicas back: fix the source, " +
				"the last, Deployment shop/b: AdmissionDenied; check the policy's fix | failed in [\"shop\"]"},
		"a wave that was set back": {
			reason: "it says by whom",
			in:     applying(1, target(0, done), target(1, failed, fight)),
			want: "Aborted w1 Unverified: wave 1 of 2: all that was written has been reverted or taken away by " +
				"others, so that nothing was verified; nothing more is begun; the last fight, Deployment shop/b: " +
				"night-job set /spec/replicas back: fix the source"},
		"some of a plan that has ended": {
			reason: "they are told apart from those that couldn't be fixed",
			in: applying(2, target(0, done), target(1, failed, fight), target(1, done), target(2, failed, denied),
				target(2, done)),
			want: "Succeeded w2 SomeTargetsFailed: 3 of 5 targets fixed and verified; 1 couldn't be fixed: see their " +
				"reasons in the slices; 1 fixed, and reverted in a fight; the last fight, Deployment shop/b: " +
				"night-job set /spec/replicas back: fix the source | count PlanSucceeded plan/plan 1 shop=3"},
	})
}
