// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
)

// atWork is a simulated plan as the budgets of another see it: by what is
// persisted of it, and nothing else.
func (s *simulation) atWork() ([]canary.PlanAtWork, error) {
	if !budget.MayHaveWritten(s.rem) {
		return nil, nil
	}
	b, err := s.records()
	if err != nil {
		return nil, err
	}
	return []canary.PlanAtWork{s.ownWork(b.Views())}, nil
}

// keepTo faults a write of one plan for which the budgets of both leave no room.
func keepTo(s *simulation, other *simulation) func(simStep) {
	return func(step simStep) {
		if len(step.Intent.Write)+len(step.Intent.Revert) == 0 {
			return
		}
		theirs, err := other.atWork()
		if err != nil {
			s.fault("%v", err)
		}
		room := canary.RoomFor(append(theirs, s.ownWork(step.Before)))
		s.keepPace(step, room)
		for _, i := range step.Intent.Write {
			if why := room.Take(step.Before[i].Object.Namespace); why != "" {
				s.fault("%s is written, though %s", step.Before[i].Object.String(), why)
			}
		}
	}
}

// keepPace faults an undoing for which there is no room, but for the one that a
// rollback may always do while nothing else of it is under way.
func (s *simulation) keepPace(step simStep, room *canary.Room) {
	moving := 0
	for _, t := range step.Before {
		if t.Recovering {
			moving++
		}
	}
	for _, i := range step.Intent.Revert {
		t := step.Before[i]
		if t.State != v1alpha1.TargetIntent && t.State != v1alpha1.TargetApplied {
			if why := room.Take(t.Object.Namespace); why != "" && moving > 0 {
				s.fault("%s is undone, though %s", t.Object.String(), why)
			}
		}
		moving++
	}
}

// plan is the nth of several plans, in this world.
func (w world) plan(n int) (*simulation, error) {
	s, err := newSimulation(w.fleet())
	if err != nil {
		return nil, err
	}
	s.rem.Name = fmt.Sprintf("plan-%d", n)
	for _, death := range w.Deaths {
		s.crashes[death] = true
	}
	w.surround(s)
	return s, nil
}

// pair is two plans on one clock.
type pair struct{ plans [2]*simulation }

func newPair(worlds [2]world) (*pair, error) {
	p := &pair{}
	for i, w := range worlds {
		s, err := w.plan(i)
		if err != nil {
			return nil, err
		}
		p.plans[i] = s
	}
	p.plans[1].clock = p.plans[0].clock
	for i, s := range p.plans {
		other, rules := p.plans[1-i], newRules(s)
		s.others = func(s *simulation) []canary.PlanAtWork {
			plans, err := other.atWork()
			if err != nil {
				s.fault("%v", err)
			}
			return plans
		}
		within := keepTo(s, other)
		s.watch = func(step simStep) {
			rules.check(step)
			within(step)
		}
	}
	return p, nil
}

// run steps the plan whose time has come first, until both have ended.
func (p *pair) run(limit int) error {
	var due [2]time.Time
	for range limit {
		next := -1
		for i, s := range p.plans {
			if !s.rem.Status.Phase.Final() && (next < 0 || due[i].Before(due[next])) {
				next = i
			}
		}
		if next < 0 {
			return errors.Join(newRules(p.plans[0]).end(), newRules(p.plans[1]).end())
		}
		s := p.plans[next]
		if due[next].After(s.clock.Now()) {
			s.clock.SetTime(due[next])
		}
		wait, err := s.step()
		if err != nil {
			return err
		}
		due[next] = s.clock.Now().Add(wait)
	}
	return fmt.Errorf("no end within %d steps: %s and %s", limit, p.plans[0].rem.Status.Message,
		p.plans[1].rem.Status.Message)
}

// Two plans at work never begin more than the budgets of both allow, whatever
// happens to either, and both come to their end.
func TestTwoPlansKeepToTheirBudgets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var two [2]world
		for i := range two {
			w := worlds(restless()).Draw(t, "world")
			w.Stop, w.People, w.Limits = sometime().Draw(t, "stop"), anyPeople().Draw(t, "people"),
				anyLimits().Draw(t, "limits")
			two[i] = w
		}
		two[0].Limits.InAll = rapid.Int32Range(1, 3).Draw(t, "budget")
		p, err := newPair(two)
		if err == nil {
			err = p.run(12000)
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
	})
}
