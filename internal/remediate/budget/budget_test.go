// SPDX-License-Identifier: Apache-2.0

package budget

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/recordtest"
)

// budgetsOver are the budgets over plans with one slice each, if they have it.
func budgetsOver(plans []*v1alpha1.Remediation, slices ...*v1alpha1.RemediationSlice) (*Budgets, *recordtest.Memory) {
	m := recordtest.MemoryOf(plans, slices...)
	return New(Options{Reader: m, Records: record.NewCache(m)}), m
}

// begins is how many targets a plan may begin now.
func begins(t *testing.T, b *Budgets, rem *v1alpha1.Remediation, n int) (may int, why string) {
	t.Helper()
	own, err := record.Read(context.Background(), b.reader, rem)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	o := rollout.Observation{Spec: rem.Spec, Status: rem.Status, Targets: own.Views()}
	ready := o.Members(0).Ready
	if err := b.Reserve(context.Background(), rem, own, &o, ready, n); err != nil {
		t.Error(err)
		return 0, ""
	}
	for _, i := range ready {
		if o.Targets[i].Barred != "" {
			why = o.Targets[i].Barred
		}
	}
	return min(n, len(o.Members(0).Ready)), why
}

func TestPlansNeverTakeTheSameRoom(t *testing.T) {
	strict, sliceA := recordtest.PlanAtWork("strict", 10, 3)
	loose, sliceB := recordtest.PlanAtWork("loose", 10, 0, v1alpha1.TargetApplied)
	b, _ := budgetsOver([]*v1alpha1.Remediation{strict, loose}, sliceA, sliceB)
	var got [2]int
	var both sync.WaitGroup
	for i, rem := range []*v1alpha1.Remediation{strict, loose} {
		both.Go(func() { got[i], _ = begins(t, b, rem, 5) })
	}
	both.Wait()
	if got[0]+got[1] != 2 {
		t.Errorf("3 may be in flight and 1 is: want 2 more, got %d and %d", got[0], got[1])
	}
}

func TestRoomThatWasReservedIsGivenBackOrTaken(t *testing.T) {
	strict, sliceA := recordtest.PlanAtWork("strict", 10, 3)
	loose, sliceB := recordtest.PlanAtWork("loose", 10, 0)
	b, c := budgetsOver([]*v1alpha1.Remediation{strict, loose}, sliceA, sliceB)
	if may, _ := begins(t, b, strict, 3); may != 3 {
		t.Fatalf("nothing is in flight: want 3, got %d", may)
	}
	if may, why := begins(t, b, loose, 3); may != 0 || !strings.Contains(why, "3 are") {
		t.Fatalf("all is reserved: want 0, got %d (%s)", may, why)
	}
	b.Release("strict")
	b.Release("loose")
	if may, _ := begins(t, b, loose, 2); may != 2 {
		t.Fatalf("nothing was recorded: want 2, got %d", may)
	}
	records := c.Slices[sliceB.Name].Records
	records[0].State, records[1].State = v1alpha1.TargetIntent, v1alpha1.TargetIntent
	if may, _ := begins(t, b, strict, 3); may != 1 {
		t.Errorf("2 are recorded and reserved both, and count once: want 1, got %d", may)
	}
}

func TestRoomIsNoneWhenNobodyKnows(t *testing.T) {
	strict, sliceA := recordtest.PlanAtWork("strict", 10, 3)
	lost, _ := recordtest.PlanAtWork("lost", 10, 0)
	b, _ := budgetsOver([]*v1alpha1.Remediation{strict, lost}, sliceA)
	if may, why := begins(t, b, strict, 3); may != 0 || !strings.Contains(why, "lost-0") {
		t.Errorf("the slice of another plan is gone: want none and its name, got %d (%s)", may, why)
	}
}

// A plan whose records are gone stands still until a person acts. Others must not
// stand still with it.
func TestALostRecordStopsNoOtherPlan(t *testing.T) {
	for name, tc := range map[string]struct {
		budget int32
		want   int
		why    string
	}{
		"without budgets it claims nothing":               {want: 2},
		"under a budget nobody knows what it has written": {budget: 3, why: "lost-0"},
	} {
		t.Run(name, func(t *testing.T) {
			ours, slice := recordtest.PlanAtWork("ours", 10, tc.budget)
			lost, _ := recordtest.PlanAtWork("lost", 10, 0, v1alpha1.TargetApplied)
			b, _ := budgetsOver([]*v1alpha1.Remediation{ours, lost}, slice)
			if may, why := begins(t, b, ours, 2); may != tc.want || !strings.Contains(why, tc.why) {
				t.Errorf("want %d (%s), got %d (%s)", tc.want, tc.why, may, why)
			}
		})
	}
}

func TestPlansThatHaveNotBegunRestrictNobody(t *testing.T) {
	strict, _ := recordtest.PlanAtWork("strict", 10, 1)
	strict.Status.Phase = v1alpha1.PhaseAwaitingApproval
	loose, sliceB := recordtest.PlanAtWork("loose", 10, 0)
	b, _ := budgetsOver([]*v1alpha1.Remediation{strict, loose}, sliceB)
	if may, _ := begins(t, b, loose, 4); may != 4 {
		t.Errorf("want 4, got %d", may)
	}
}

// The administrator's share holds for what begins, also where no plan has a budget of
// its own, and not for what is undone.
func TestTheAdministratorsShareHoldsForEveryPlan(t *testing.T) {
	tenth := intstr.Parse("10%")
	floors := limits.Floors{MaxTotalInFlight: &tenth}
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "a"},
		Spec: v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{Targets: 20}}}
	rem.Status.Phase = v1alpha1.PhaseApplying
	b := &Budgets{reader: budgetPlans{*rem}, floors: floors}
	room, err := b.room(t.Context(), rem, &record.Records{}, &b.floors)
	if err != nil || room.Left() != 2 {
		t.Errorf("%d of 20 may be in flight (%v), want 2", room.Left(), err)
	}
	if room, err = b.room(t.Context(), rem, &record.Records{}, &limits.Floors{}); err != nil || room.Left() < 20 {
		t.Errorf("%d may be undone (%v), want all", room.Left(), err)
	}
}

// budgetPlans reads plans.
type budgetPlans []v1alpha1.Remediation

func (b budgetPlans) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("nothing but plans")
}

func (b budgetPlans) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	list.(*v1alpha1.RemediationList).Items = b
	return nil
}
