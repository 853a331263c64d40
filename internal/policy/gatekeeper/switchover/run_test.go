// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// switches is how often the model goes over from one of two runs to the other.
const switches = 5

// inOrder runs two handovers at once. The one goes on for as many accesses as the order says, then the other, and so
// on; behind the end of the order each goes on to its own end.
func inOrder(t *testing.T, w *world, order []int, runs [2]func(context.Context) error) (errs [2]error) {
	t.Helper()
	var next [2]func() (struct{}, bool)
	var yields [2]func(struct{}) bool
	for i := range runs {
		var stop func()
		next[i], stop = iter.Pull(func(yield func(struct{}) bool) {
			yields[i] = yield
			errs[i] = runs[i](t.Context())
		})
		defer stop()
	}
	at := 0
	w.step = func() { yields[at](struct{}{}) }
	for i, accesses := range order {
		at = i % 2
		for range accesses {
			if _, goesOn := next[at](); !goesOn {
				break
			}
		}
	}
	for at = range 2 {
		for goesOn := true; goesOn; {
			_, goesOn = next[at]()
		}
	}
	w.step = func() {}
	return errs
}

// orders are all orders of at most so many parts, each of some lengths that a run, of up to 20 accesses, consists of.
func orders(parts int, yield func([]int)) {
	var add func(order []int)
	add = func(order []int) {
		yield(order)
		if len(order) == parts {
			return
		}
		for _, n := range []int{1, 2, 4, 7} {
			add(append(order[:len(order):len(order)], n))
		}
	}
	add(nil)
	add([]int{0})
}

// TestTwoRunsAtOnceLeaveEnforcement has two runs reach the objects in orders that go over from one to the other up to
// five times, from each state that a run may have left. At no access does nobody enforce.
func TestTwoRunsAtOnceLeaveEnforcement(t *testing.T) {
	for name, kinds := range map[string][2]bool{"there and back": {true, false}, "back and there": {false, true},
		"both there": {true, true}, "both back": {false, false}} {
		for _, left := range []State{Gatekeeper, Both, Evenkeel} {
			t.Run(name+", "+string(left), func(t *testing.T) {
				t.Parallel()
				succeeded := 0
				orders(switches, func(order []int) {
					w := leftAs(t, left)
					var runs [2]func(context.Context) error
					for i, forward := range kinds {
						h := w.handover()
						h.Run, h.Timeout = fmt.Sprint("run ", i), time.Second
						if runs[i] = h.Back; forward {
							runs[i] = h.Forward
						}
					}
					errs := inOrder(t, w, order, runs)
					if len(w.gaps) > 0 || w.state() == Neither {
						t.Fatalf("%v: nobody enforced %q; it ended as %s: %v", order, w.gaps, w.state(), errs)
					}
					for _, err := range errs {
						if err == nil {
							succeeded++
						}
					}
				})
				if succeeded == 0 {
					t.Error("no run ever succeeded")
				}
			})
		}
	}
}

// leftAs is a cluster as a run has left it.
func leftAs(t *testing.T, left State) *world {
	t.Helper()
	w := newWorld("deny")
	if w.ends = map[State]int{Both: 4}[left]; left == Gatekeeper {
		return w
	}
	if err := w.handover().Forward(t.Context()); (err != nil) != (left == Both) || w.state() != left {
		t.Fatalf("it ended as %v, and %s", err, w.state())
	}
	w.ends = 0
	return w
}

// TestWhatSomebodyElseTakesAwayIsGivenBack has a person take enforcement from the one object just when the run takes
// it from the other.
func TestWhatSomebodyElseTakesAwayIsGivenBack(t *testing.T) {
	for name, tc := range map[string]struct {
		from State
		run  func(*Handover) func(context.Context) error
		when State
		take func(*world)
		want string
	}{
		"the policy's, once the constraint only records": {Gatekeeper, func(h *Handover) func(context.Context) error {
			return h.Forward
		}, Evenkeel, func(w *world) {
			w.policy.Spec.Admission.Action = v1alpha1.AdmissionAudit
			w.policy.Generation++
		}, "Gatekeeper alone is set to enforce constraint Teamed/services"},
		"the constraint's, once the policy only records": {Evenkeel, func(h *Handover) func(context.Context) error {
			return h.Back
		}, Gatekeeper, func(w *world) {
			setEnforcement(w.constraint.Object, dryRun)
			w.constraint.Object.SetGeneration(w.constraint.Object.GetGeneration() + 1)
		}, "policy services alone is set to enforce"},
		"the constraint itself, once it only records": {Gatekeeper, func(h *Handover) func(context.Context) error {
			return h.Forward
		}, Both, func(w *world) { w.constraint = nil },
			"the constraint has been deleted, and policy services is set to enforce alone"},
	} {
		t.Run(name, func(t *testing.T) {
			w := leftAs(t, tc.from)
			h, taken := w.handover(), false
			w.step = func() {
				if !taken && w.state() == tc.when {
					taken = true
					tc.take(w)
				}
			}
			err := tc.run(h)(t.Context())
			if err == nil || !taken || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it ended as %v, want %q", err, tc.want)
			}
		})
	}
}

// TestNobodyYieldsToAManagerThatDoesNotAnswer: a status says what was confirmed once, and not that anybody lives.
func TestNobodyYieldsToAManagerThatDoesNotAnswer(t *testing.T) {
	for _, left := range []State{Gatekeeper, Both, Evenkeel} {
		w := leftAs(t, left)
		w.refused = errors.New("nobody answers")
		err := w.handover().Forward(t.Context())
		if err == nil || !strings.Contains(err.Error(), "nobody answers") || left != Evenkeel && w.state() != Both {
			t.Errorf("from %s it ended as %v, and %s", left, err, w.state())
		}
	}
}

// TestAnInterruptedRunSaysWhoEnforces: of a command that is interrupted no error is told.
func TestAnInterruptedRunSaysWhoEnforces(t *testing.T) {
	w := newWorld("deny")
	ctx, cancel := context.WithCancel(t.Context())
	h := w.handover()
	h.Wait = func(context.Context, time.Duration) error {
		cancel()
		return context.Canceled
	}
	var told []string
	h.Told = func(s string) { told = append(told, s) }
	err := h.Forward(ctx)
	want := "stopped: both are set to enforce"
	if !errors.Is(err, context.Canceled) || len(told) != 1 || !strings.HasPrefix(told[0], want) ||
		!strings.Contains(told[0], "evenkeel migrate gatekeeper switch-back Teamed/services") {
		t.Errorf("it ended as %v, and told %q", err, told)
	}
}

// TestAChangeSinceTheCheckIsNotWrittenOver changes what was compared before the first write.
func TestAChangeSinceTheCheckIsNotWrittenOver(t *testing.T) {
	for name, change := range map[string]func(*world){
		"the policy":     func(w *world) { w.policy.Generation++ },
		"the constraint": func(w *world) { w.constraint.Object.SetGeneration(9) },
	} {
		w := newWorld("deny")
		h := w.handover()
		h.Check = func(context.Context, *v1alpha1.ClusterRegoPolicy, *Constraint) error {
			change(w)
			return nil
		}
		err := h.Forward(t.Context())
		if err == nil || !strings.Contains(err.Error(), "somebody else") || w.state() != Gatekeeper {
			t.Errorf("%s: it ended as %v, and %s", name, err, w.state())
		}
	}
}
