// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/recordtest"
)

// sameObjects gives the targets of a plan the objects of another.
func sameObjects(of, as *v1alpha1.RemediationSlice) {
	for i := range of.Targets {
		of.Targets[i].Object = as.Targets[i].Object
	}
}

// lookedAt is when plans look at each other.
var lookedAt = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func TestAPlanThatIsPausedDoesNotBegin(t *testing.T) {
	for name, tc := range map[string]struct {
		until *metav1.Time
		want  bool
	}{
		"for good":         {},
		"until later":      {until: &metav1.Time{Time: lookedAt.Add(1)}},
		"its end has come": {until: &metav1.Time{Time: lookedAt}, want: true},
	} {
		rem := &v1alpha1.Remediation{}
		rem.Spec.Plan.Rollout.Mode, rem.Status.Phase = v1alpha1.RemediationAutomatic, v1alpha1.PhasePlanned
		rem.Spec.DesiredState, rem.Spec.PausedUntilTime = v1alpha1.StatePaused, tc.until
		if got := aboutToBegin(rem, lookedAt); got != tc.want {
			t.Errorf("%s: about to begin: %t, want %t", name, got, tc.want)
		}
	}
}

func TestAnObjectInWorkBelongsToOnePlan(t *testing.T) {
	const now = 10 * time.Minute
	cases := map[string]struct {
		reason string
		// theirs is what the other plan has done with the one object that both have.
		theirs   v1alpha1.TargetRecord
		other    func(*v1alpha1.RemediationStatus)
		strategy func(*v1alpha1.RemediationSpec)
		// began is how long ago our plan has begun to write.
		began time.Duration
		waits string
	}{
		"A write that was decided": {
			reason: "it may be under way", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetIntent},
			waits: "has the object in work"},
		"A write that isn't verified": {
			reason: "it may do harm", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetApplied},
			waits: "has the object in work"},
		"A write that soaks": {
			reason: "it may do harm yet", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetVerified},
			waits: "has the object in work"},
		"A write that was undone and recovers": {
			reason: "the object isn't well yet",
			theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetReverted, Recovering: true},
			waits:  "has the object in work"},
		"A write that is done": {
			reason: "it is proven", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetDone}},
		"A write that is done, and is being undone": {
			reason: "all of the plan is taken back", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetDone},
			other: func(s *v1alpha1.RemediationStatus) { s.Phase = v1alpha1.PhaseRollingBack },
			strategy: func(s *v1alpha1.RemediationSpec) {
				s.DesiredState = v1alpha1.StateUndone
			}, waits: "has the object in work"},
		"A write of a failed wave that a person decides on": {
			reason: "it stays as it is until then", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetApplied},
			other: func(s *v1alpha1.RemediationStatus) {
				s.Phase, s.HeldFrom = v1alpha1.PhaseHeld, v1alpha1.PhaseVerifying
			}, waits: "has the object in work"},
		"A plan that has ended": {
			reason: "it writes no more", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetVerified},
			other: func(s *v1alpha1.RemediationStatus) { s.Phase = v1alpha1.PhaseAborted }},
		"A write that is still to come": {
			reason: "whoever is first begins", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}},
		"A new plan for the object": {reason: "both write it once, if it comes soon",
			theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetPending},
			other:  func(s *v1alpha1.RemediationStatus) { s.Phase = "" }, waits: "is about to change the object too"},
		"A plan that was held": {reason: "what held it may have passed for it too",
			theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetPending},
			other: func(s *v1alpha1.RemediationStatus) {
				s.Phase, s.HeldFrom = v1alpha1.PhaseHeld, v1alpha1.PhasePlanned
			}, waits: "is about to change the object too"},
		"A plan that is held for long": {
			reason: "nobody waits for it", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetPending},
			began: 4 * time.Second,
			other: func(s *v1alpha1.RemediationStatus) {
				s.Phase, s.HeldFrom = v1alpha1.PhaseHeld, v1alpha1.PhasePlanned
			}},
		"A new plan that only tries": {
			reason: "a dry run writes nothing", theirs: v1alpha1.TargetRecord{State: v1alpha1.TargetPending},
			other: func(s *v1alpha1.RemediationStatus) { s.Phase = "" }, strategy: func(s *v1alpha1.RemediationSpec) {
				s.Plan.Rollout.Mode = v1alpha1.RemediationDryRun
			}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			ours, slice := recordtest.PlanAtWork("ours", 2, 0)
			theirs, other := recordtest.PlanAtWork("theirs", 1, 0)
			sameObjects(other, slice)
			other.Records[0] = tc.theirs
			if tc.other != nil {
				tc.other(&theirs.Status)
			}
			if tc.strategy != nil {
				tc.strategy(&theirs.Spec)
			}
			began := metav1.NewMicroTime(lookedAt.Add(now - tc.began))
			ours.Status.PhaseStartTime = &began
			b, _ := budgetsOver([]*v1alpha1.Remediation{ours, theirs}, slice, other)
			own, err := record.Read(t.Context(), b.reader, ours)
			if err != nil {
				t.Fatal(err)
			}
			o := rollout.Observation{Now: lookedAt.Add(now), Spec: ours.Spec, Status: ours.Status, Targets: own.Views()}
			if err := b.Reserve(t.Context(), ours, own, &o, []int{0, 1}, 2); err != nil {
				t.Fatal(err)
			}
			got := o.Targets[0]
			if (got.Barred != "") != (tc.waits != "") || !strings.Contains(got.Barred, tc.waits) {
				t.Errorf("%s\nthe object of both: want %q, got %q", tc.reason, tc.waits, got.Barred)
			}
			if got.Barred != "" && (got.BarredReason != v1alpha1.ReasonOtherPlan ||
				!strings.Contains(got.Barred, "theirs")) {
				t.Errorf("%s\nwhat it waits for isn't named: %s: %s", tc.reason, got.BarredReason, got.Barred)
			}
			if o.Targets[1].Barred != "" {
				t.Errorf("an object of ours alone waits: %s", o.Targets[1].Barred)
			}
		})
	}
}

// Two plans that look at the same time don't both take an object, and one that both
// have written counts once for the budgets.
func TestPlansThatLookAtTheSameTime(t *testing.T) {
	one, first := recordtest.PlanAtWork("one", 2, 3)
	two, second := recordtest.PlanAtWork("two", 2, 0)
	sameObjects(second, first)
	b, _ := budgetsOver([]*v1alpha1.Remediation{one, two}, first, second)
	if may, _ := begins(t, b, one, 1); may != 1 {
		t.Fatalf("the first plan may begin %d, want 1", may)
	}
	if may, why := begins(t, b, two, 2); may != 1 || !strings.Contains(why, "plan one has the object in work") {
		t.Errorf("the second plan may begin %d, want the other object: %s", may, why)
	}

	written := []v1alpha1.TargetState{v1alpha1.TargetApplied, v1alpha1.TargetIntent}
	one, first = recordtest.PlanAtWork("one", 4, 3, written...)
	two, second = recordtest.PlanAtWork("two", 4, 0, written...)
	sameObjects(second, first)
	three, third := recordtest.PlanAtWork("three", 3, 0)
	b, _ = budgetsOver([]*v1alpha1.Remediation{one, two, three}, first, second, third)
	if may, why := begins(t, b, three, 3); may != 1 {
		t.Errorf("with two objects in flight that two plans have written, and room for three, %d may begin, want 1: %s",
			may, why)
	}
}
