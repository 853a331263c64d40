// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// maxEffects bounds a rollout that is run once for each of its effects.
const maxEffects = 400

// maxSteps bounds a rollout that doesn't come to its end.
const maxSteps = 20000

// The controller dies once, after each effect in turn, over rollouts of every kind. Until
// that step a rollout is as without a crash, so each goes on from there, in a world of its own.
func TestCrashAfterEveryEffect(t *testing.T) {
	t.Parallel()
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if len(sc.fleet.refs) > 50 {
				t.Skip("too large to run once for each effect")
			}
			// Few looks in a soak are as good as many.
			soaks(min(sc.fleet.strategy.Steps[0].Soak.Duration, 4*time.Second), 15*time.Second)(&sc.fleet.strategy)
			lived := sc.begin(t)
			if lived.end(t); lived.effects > maxEffects {
				t.Skip("too long to run once for each effect")
			}
			crashed, goesOn, known := 0, sc.begin(t), endings{}
			for at := goesOn.fork(); !at.rests(); at.stepOn(t) {
				known.add(at.fork())
			}
			for !goesOn.rests() {
				before := goesOn.fork()
				goesOn.stepOn(t)
				for n := before.effects + 1; n <= goesOn.effects; n++ {
					sc.crash(t, before.fork(), n, lived, known)
					crashed++
				}
			}
			if crashed != lived.effects {
				t.Errorf("died after %d of %d effects", crashed, lived.effects)
			}
		})
	}
}

// crash has the controller die after the n-th effect, and compares the end with that of
// one that lives. Once a rollout stands where another has stood, it ends like that one.
func (sc scenario) crash(t *testing.T, died life, n int, lived life, known endings) {
	t.Helper()
	died.crashes[n] = true
	var passed []life
	for !died.rests() && died.steps < maxSteps {
		died.stepOn(t)
		if died.effects < n {
			t.Fatalf("the controller didn't die after effect %d", n)
		}
		if known.has(died) {
			known.add(passed...)
			return
		}
		passed = append(passed, died.fork())
	}
	died.end(t)
	known.add(passed...)
	if sc.chance || died.cannotTell() {
		return
	}
	if died.rem.Status.Phase != lived.rem.Status.Phase || died.rem.Status.Reason != lived.rem.Status.Reason {
		t.Errorf("ends as %s (%s) without a crash, and as %s (%s) with one after effect %d",
			lived.rem.Status.Phase, lived.rem.Status.Reason, died.rem.Status.Phase, died.rem.Status.Reason, n)
	}
}

// endings are points of rollouts whose end is known to be right, as all that follows from
// them is alike.
type endings map[string][]life

// at tells points apart that can't be the same.
func (l life) at() string { return fmt.Sprint(l.since(), l.rem.Status.Phase, l.rem.Status.Counts) }

func (e endings) add(points ...life) {
	for _, p := range points {
		e[p.at()] = append(e[p.at()], p)
	}
}

func (e endings) has(l life) bool {
	return slices.ContainsFunc(e[l.at()], func(p life) bool { return l.standsAt(p) })
}

// standsAt says whether all that decides on what follows is alike: what survives a crash,
// what the world outside remembers, and what the rules do. What a step sets before it
// looks at it isn't compared, nor how many steps and effects it took to come here.
func (l life) standsAt(p life) bool {
	return l.broken == nil && p.broken == nil && l.clock.Now().Equal(p.clock.Now()) &&
		l.shutUntil.Equal(p.shutUntil) && reflect.DeepEqual(l.rem, p.rem) &&
		reflect.DeepEqual(l.store.slices, p.store.slices) && reflect.DeepEqual(l.objects, p.objects) &&
		reflect.DeepEqual(l.counted, p.counted) && l.rules.idle == p.rules.idle && l.rules.wave == p.rules.wave &&
		l.rules.approved == p.rules.approved && maps.Equal(l.rules.badAt, p.rules.badAt)
}

// life is a simulation under the rules.
type life struct {
	*simulation
	rules *rules
}

// begin is the scenario before its first step, without crashes.
func (sc scenario) begin(t *testing.T) life {
	t.Helper()
	s, err := newSimulation(sc.fleet)
	if err != nil {
		t.Fatal(err)
	}
	if sc.set != nil {
		sc.set(s)
	}
	s.crashes = map[int]bool{}
	return life{s, newRules(s)}.watched()
}

func (l life) watched() life {
	l.watch = l.rules.check
	return l
}

// fork is the same rollout once more, at the same point, in a world of its own.
func (l life) fork() life {
	s, r := l.simulation.fork(), *l.rules
	r.sim, r.badAt = s, maps.Clone(r.badAt)
	return life{s, &r}.watched()
}

// stepOn takes one step and waits as it asks.
func (l life) stepOn(t *testing.T) {
	t.Helper()
	wait, err := l.step()
	if err != nil {
		t.Fatal(err)
	}
	l.clock.SetTime(l.clock.Now().Add(wait))
}

// end runs to the end.
func (l life) end(t *testing.T) {
	t.Helper()
	if err := errors.Join(l.run(maxSteps), l.rules.end()); err != nil {
		t.Fatalf("with crashes after effects %v: %v", slices.Collect(maps.Keys(l.crashes)), err)
	}
}

// cannotTell says whether the crash has lost the news that a write was refused,
// for somebody had made the same edit: then theirs is taken for ours.
func (s *simulation) cannotTell() bool {
	return slices.ContainsFunc(s.objects, func(o *simObject) bool { return o.untold })
}
