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

// objectsInWork are the objects that a simulated plan has in work, by what is
// persisted of it.
func (s *simulation) objectsInWork() map[string]string {
	held := map[string]string{}
	if !budget.MayHaveWritten(s.rem) {
		return held
	}
	b, err := s.records()
	if err != nil {
		s.fault("%v", err)
		return held
	}
	for i := range b.Places {
		if budget.InWork(s.rem, b.Record(i)) {
			held[b.Target(i).Object.UID] = s.rem.Name
		}
	}
	return held
}

// several is a number of plans for the same objects, on one clock. Each has a field
// of its own in them.
type several struct{ plans []*simulation }

func newSeveral(worlds []world) (*several, error) {
	v := &several{}
	for i, w := range worlds {
		s, err := w.plan(i)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			s.clock = v.plans[0].clock
		}
		v.plans = append(v.plans, s)
	}
	for i, s := range v.plans {
		rules := newRules(s)
		s.claims = func(*simulation) map[string]string { return v.claimsBut(i) }
		s.others = func(*simulation) []canary.PlanAtWork { return v.atWorkBut(i) }
		s.watch = func(step simStep) {
			rules.check(step)
			v.oneAtATime(i, step)
		}
	}
	return v, nil
}

// claimsBut are what all plans but one have in work.
func (v *several) claimsBut(own int) map[string]string {
	claims := map[string]string{}
	for i, s := range v.plans {
		if i == own {
			continue
		}
		for uid, plan := range s.objectsInWork() {
			claims[uid] = plan
		}
	}
	return claims
}

func (v *several) atWorkBut(own int) []canary.PlanAtWork {
	var plans []canary.PlanAtWork
	for i, s := range v.plans {
		if i == own {
			continue
		}
		at, err := s.atWork()
		if err != nil {
			s.fault("%v", err)
		}
		plans = append(plans, at...)
	}
	return plans
}

// oneAtATime faults a write of an object that another plan has in work, and an
// attempt or an outcome that a plan which waits is charged with.
func (v *several) oneAtATime(own int, step simStep) {
	s, claims := v.plans[own], v.claimsBut(own)
	for _, i := range step.Intent.Write {
		if plan := claims[step.Before[i].Object.UID]; plan != "" {
			s.fault("%s is written, though %s has it in work", step.Before[i].Object.String(), plan)
		}
	}
	for i, t := range step.Observation.Targets {
		waits := t.BarredReason == v1alpha1.ReasonOtherPlan && t.State == v1alpha1.TargetPending
		if waits && step.After[i].Attempts != t.Attempts {
			s.fault("%s waits for another plan, and is charged with an attempt", t.Object.String())
		}
		if waits && step.After[i].State == v1alpha1.TargetFailed {
			s.fault("%s waits for another plan, and is %s", t.Object.String(), step.After[i].Reason)
		}
	}
}

// run steps the plan whose time has come first, until all have ended.
func (v *several) run(limit int) error {
	due := make([]time.Time, len(v.plans))
	for range limit {
		next := -1
		for i, s := range v.plans {
			if !s.rem.Status.Phase.Final() && (next < 0 || due[i].Before(due[next])) {
				next = i
			}
		}
		if next < 0 {
			var errs []error
			for _, s := range v.plans {
				errs = append(errs, newRules(s).end())
			}
			return errors.Join(errs...)
		}
		s := v.plans[next]
		if due[next].After(s.clock.Now()) {
			s.clock.SetTime(due[next])
		}
		wait, err := s.step()
		if err != nil {
			return err
		}
		due[next] = s.clock.Now().Add(wait)
	}
	text := "no end: plans wait for each other?"
	for _, s := range v.plans {
		text += fmt.Sprintf("\n%s is %s: %s", s.rem.Name, s.rem.Status.Phase, s.rem.Status.Message)
	}
	return errors.New(text)
}

// Two or three plans for the same objects never have one of them in work at once,
// whatever happens to any, wherever the controller dies; none is charged for waiting;
// and all come to their end.
func TestSeveralPlansShareObjects(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		worlds := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) world {
			w := worlds(restless()).Draw(t, "world")
			w.Stop, w.People, w.Limits = sometime().Draw(t, "stop"), anyPeople().Draw(t, "people"),
				anyLimits().Draw(t, "limits")
			return w
		}), 2, 3).Draw(t, "worlds")
		v, err := newSeveral(worlds)
		if err == nil {
			err = v.run(40000)
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
	})
}

// otherPlan has the objects at some places of the plan in work in a span of time.
func otherPlan(from, to time.Duration, places ...int) func(*simulation) {
	return func(s *simulation) {
		s.claims = func(s *simulation) map[string]string {
			claims := map[string]string{}
			if at := s.since(); at < from || at >= to {
				return claims
			}
			for _, i := range places {
				claims[s.objects[i].ref.UID] = "limits-77"
			}
			return claims
		}
	}
}

func sharedScenarios() map[string]scenario {
	well := behaviour{Heals: 3 * time.Second}
	return map[string]scenario{
		"other-plan-has-canary": {
			reason: "Another plan has the canary in work: nothing is begun until it is done with it.",
			fleet:  newFleet(3).every(well), set: otherPlan(0, 9*time.Second, 0)},
		"other-plan-has-one": {
			reason: "Another plan has one object of a wave in work: the others are fixed, and that one when it is " +
				"free.",
			fleet: newFleet(6).every(well), set: otherPlan(0, 90*time.Second, 3)},
		"other-plan-for-long": {
			reason: "Another plan keeps one object of a wave for long: what is verified soaks and " +
				"is done, so that nobody waits for it; the last one comes when it is free.",
			fleet: newFleet(4).every(well), set: otherPlan(0, 6*time.Minute, 2)},
		"other-plan-rollback": {ends: v1alpha1.PhaseRolledBack,
			reason: "The wave fails while another plan has one of " +
				"its objects in work: only what this plan has written is undone.",
			fleet: newFleet(4).at(map[int]behaviour{1: {Says: "crashes at once", WorsensAt: time.Second}}),
			set:   otherPlan(0, time.Hour, 3)},
	}
}
