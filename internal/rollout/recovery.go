// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// PaceUndo bars the targets for whose undoing there is no room, and gives those
// that it took room for, with their namespaces by UID. A target in flight is
// unavailable, or may be, already: its undoing takes no more room.
func (o *Observation) PaceUndo(room *canary.Room, unknown string) (taken map[string]string) {
	taken = map[string]string{}
	needRoom, begun := o.needRoom()
	for _, i := range needRoom {
		t := &o.Targets[i]
		if len(taken) == int(o.Spec.Plan.Rollout.MaxInFlight) {
			t.Barred, t.BarredReason = "its batch is full", v1alpha1.ReasonBudgetSpent
		} else if why := room.Take(t.Object.Namespace); why != "" {
			t.Barred, t.BarredReason = cmp.Or(unknown, why), v1alpha1.ReasonBudgetSpent
		} else {
			taken[t.Object.UID] = t.Object.Namespace
		}
	}
	if len(needRoom) > 0 && len(taken) == 0 && !begun {
		t := &o.Targets[needRoom[0]]
		t.Barred, t.BarredReason = "", ""
		taken[t.Object.UID] = t.Object.Namespace
	}
	return taken
}

// needRoom are the targets whose undoing takes room, the last first, and whether any is
// undone, or to be undone, without it.
func (o *Observation) needRoom() (list []int, begun bool) {
	for i, t := range slices.Backward(o.Targets) {
		switch {
		case t.Recovering:
			begun = true
		case !o.undoes(t) || t.NextAttemptAt.After(o.Now):
		case t.State == v1alpha1.TargetIntent || t.State == v1alpha1.TargetApplied:
			begun = true
		default:
			list = append(list, i)
		}
	}
	return list, begun
}

// recovered marks the targets that are well again after their write was undone, or
// have had the time for it; it returns those that aren't yet.
func (o Observation) recovered() (marks []Mark, recovering []int) {
	for i, t := range o.Targets {
		if !t.Recovering {
			continue
		}
		deadline := o.Spec.Plan.Rollout.ProgressDeadline.Duration
		switch {
		case t.Check != nil && t.Check.Result == CheckPassed:
			marks = append(marks, Mark{Target: i, State: t.State, Recovered: true})
		case o.Now.Sub(t.RevertedAt) > deadline:
			marks = append(marks, Mark{Target: i, State: t.State, Recovered: true,
				Message: fmt.Sprintf("undone, but the object wasn't well again within %s: %s", deadline,
					o.checkMessage(i))})
		default:
			recovering = append(recovering, i)
		}
	}
	return marks, recovering
}
