// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// maxEffects bounds a rollout that is run once for each of its effects.
const maxEffects = 400

// The controller dies once, after each effect in turn, over rollouts of every kind.
func TestCrashAfterEveryEffect(t *testing.T) {
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			if len(sc.fleet.refs) > 50 {
				t.Skip("too large to run once for each effect")
			}
			// Few looks in a soak are as good as many.
			soaks(min(sc.fleet.strategy.EffectiveSoak(), 4*time.Second), 15*time.Second)(&sc.fleet.strategy)
			lived := sc.dying(t, 0)
			if lived.effects > maxEffects {
				t.Skip("too long to run once for each effect")
			}
			for n := 1; n <= lived.effects; n++ {
				died := sc.dying(t, n)
				if sc.chance || died.cannotTell() {
					continue
				}
				if died.rem.Status.Phase != lived.rem.Status.Phase ||
					died.rem.Status.Reason != lived.rem.Status.Reason {
					t.Errorf("ends as %s (%s) without a crash, and as %s (%s) with one after effect %d",
						lived.rem.Status.Phase,
						lived.rem.Status.Reason, died.rem.Status.Phase, died.rem.Status.Reason, n)
				}
			}
		})
	}
}

// dying runs the scenario with one crash, after the n-th effect; zero: none.
func (sc scenario) dying(t *testing.T, n int) *simulation {
	t.Helper()
	s, err := newSimulation(sc.fleet)
	if err != nil {
		t.Fatal(err)
	}
	if sc.set != nil {
		sc.set(s)
	}
	s.crashes = map[int]bool{n: true}
	rules := newRules(s)
	s.watch = rules.check
	if err := errors.Join(s.run(20000), rules.end()); err != nil {
		t.Fatalf("with a crash after effect %d: %v", n, err)
	}
	return s
}

// cannotTell says whether the crash has lost the news that a write was refused,
// for somebody had made the same edit: then theirs is taken for ours.
func (s *simulation) cannotTell() bool {
	return slices.ContainsFunc(s.objects, func(o *simObject) bool { return o.untold })
}
