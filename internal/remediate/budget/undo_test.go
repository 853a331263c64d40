// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/recordtest"
)

// Ten targets of a thousand may be written, and the others are left to their
// owners: ten percent of what is written is one.
func TestPercentagesAreOfWhatThePlanMayWrite(t *testing.T) {
	cases := map[string]struct {
		reason   string
		writable int32
		skipped  int
		want     int
	}{
		"known when the plan was made":      {"writable says so", 10, 0, 1},
		"found while it was at work":        {"190 were left alone", 0, 190, 1},
		"some of either":                    {"the smaller number counts", 60, 170, 3},
		"all may be written":                {"20 of 200", 200, 0, 20},
		"a plan of before writable was set": {"nothing better is known", 0, 0, 20},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem, slice := recordtest.PlanAtWork("ten", 200, 0)
			rem.Spec.Plan.Writable = tc.writable
			for i := range tc.skipped {
				slice.Records[i] = v1alpha1.TargetRecord{State: v1alpha1.TargetSkipped, Reason: v1alpha1.ReasonManaged}
			}
			b, _ := budgetsOver([]*v1alpha1.Remediation{rem}, slice)
			tenth := intstr.Parse("10%")
			b.floors = limits.Floors{MaxTotalInFlight: &tenth}
			if may, why := begins(t, b, rem, 200); may != tc.want {
				t.Errorf("%s: %d may begin, want %d (%s)", tc.reason, may, tc.want, why)
			}
		})
	}
}

// undoes is how many targets a rollback may undo now.
func undoes(t *testing.T, b *Budgets, rem *v1alpha1.Remediation) int {
	t.Helper()
	own, err := record.Read(t.Context(), b.reader, rem)
	if err != nil {
		t.Fatal(err)
	}
	o := rollout.Observation{Now: time.Unix(1, 0), Spec: rem.Spec, Status: rem.Status, Targets: own.Views()}
	b.ReserveUndo(t.Context(), rem, own, &o)
	b.Release(rem.Name)
	o.Status.Phase = v1alpha1.PhaseRollingBack
	intent, err := rollout.Step(o)
	if err != nil {
		t.Fatal(err)
	}
	return len(intent.Revert)
}

func TestARollbackKeepsToBudgetsAndIsNeverBlocked(t *testing.T) {
	const verified, applied, pending = v1alpha1.TargetVerified, v1alpha1.TargetApplied, v1alpha1.TargetPending
	cases := map[string]struct {
		reason     string
		budget     int32
		states     []v1alpha1.TargetState
		recovering int // of those that were undone before
		theirs     []v1alpha1.TargetState
		lost       bool // the slice of another plan is gone
		want       int
	}{
		"no budget": {
			"maxInFlight at a time", 0,
			[]v1alpha1.TargetState{verified, verified, verified, verified, verified, verified}, 0, nil, false, 5},
		"one at a time": {
			"as they were written", 1, []v1alpha1.TargetState{verified, verified, verified}, 0, nil, false, 1},
		"one recovers": {"it has the room", 1, []v1alpha1.TargetState{verified, verified}, 1,
			nil, false, 0},
		"what is in flight has its room": {
			"it is unavailable already", 2, []v1alpha1.TargetState{applied, applied, verified}, 0, nil, false, 2},
		"another plan has all the room": {
			"one goes on all the same", 2, []v1alpha1.TargetState{verified, verified}, 0,
			[]v1alpha1.TargetState{applied, applied}, false, 1},
		"another plan has it, and one recovers": {"that is the one", 2, []v1alpha1.TargetState{verified, verified}, 1,
			[]v1alpha1.TargetState{applied, applied}, false, 0},
		"nobody knows what is in flight": {
			"one goes on all the same", 2, []v1alpha1.TargetState{verified, verified}, 0, nil, true, 1},
		"a limit that can't be meant": {
			"one goes on all the same", -1, []v1alpha1.TargetState{verified, verified}, 0, nil, false, 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for range tc.recovering {
				tc.states = append(tc.states, v1alpha1.TargetReverted)
			}
			rem, slice := recordtest.PlanAtWork("undo", len(tc.states), tc.budget, tc.states...)
			rem.Spec.Plan.Rollout.MaxInFlight, rem.Status.Phase = 5, v1alpha1.PhaseRollingBack
			for i := range tc.recovering {
				slice.Records[len(tc.states)-1-i].Recovering = true
			}
			other, otherSlice := recordtest.PlanAtWork("other", max(len(tc.theirs), 1), 0,
				append(tc.theirs, pending)...)
			slices := []*v1alpha1.RemediationSlice{slice, otherSlice}
			if tc.lost {
				slices = slices[:1]
			}
			b, _ := budgetsOver([]*v1alpha1.Remediation{rem, other}, slices...)
			if got := undoes(t, b, rem); got != tc.want {
				t.Errorf("%s: %d are undone, want %d", tc.reason, got, tc.want)
			}
		})
	}
}

// What a rollback has undone, and what isn't well again yet, is in flight for the
// other plans.
func TestWhatIsUndoneCountsForOtherPlans(t *testing.T) {
	undone, sliceA := recordtest.PlanAtWork("undone", 3, 0, v1alpha1.TargetReverted, v1alpha1.TargetReverted,
		v1alpha1.TargetVerified)
	undone.Status.Phase = v1alpha1.PhaseRollingBack
	strict, sliceB := recordtest.PlanAtWork("strict", 5, 2)
	b, kept := budgetsOver([]*v1alpha1.Remediation{undone, strict}, sliceA, sliceB)
	for recovering, want := range []int{2, 1, 0} {
		for i := range recovering {
			kept.Slices[sliceA.Name].Records[i].Recovering = true
		}
		if may, why := begins(t, b, strict, 5); may != want {
			t.Errorf("%d recover: %d may begin, want %d (%s)", recovering, may, want, why)
		}
		b.Release("strict")
	}
}
