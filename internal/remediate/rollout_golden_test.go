// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
)

var update = flag.Bool("update", false, "write the golden files and the generated documents anew")

// scenario is a fleet with what happens around it.
type scenario struct {
	reason string
	fleet  fleet
	// ends is the phase that the rollout must end in; empty means Succeeded.
	ends v1alpha1.RemediationPhase
	// chance says that a crash may come before what the scenario is about, and that
	// the rollout then ends otherwise.
	chance bool
	// set makes the world outside the fleet: the gate, the policy, crashes.
	set func(*simulation)
}

// closedBetween is a gate that is closed in a span of time.
func closedBetween(from, to time.Duration, g rollout.Gate) func(*simulation) {
	g.Closed = true
	return func(s *simulation) {
		s.gate = func(s *simulation) rollout.Gate {
			if at := s.since(); at >= from && at < to {
				return g
			}
			return rollout.Gate{}
		}
	}
}

// stoppedFrom stops the plan from a time on.
func stoppedFrom(from time.Duration, why string) func(*simulation) {
	return func(s *simulation) {
		s.stop = func(s *simulation) string {
			if s.since() < from {
				return ""
			}
			return why
		}
	}
}

func breakerGate() rollout.Gate {
	return rollout.Gate{Reason: v1alpha1.ReasonBreakerOpen, Message: "circuit breaker global is open"}
}

func concurrency(n int32) func(*simStrategy) {
	return func(r *simStrategy) { r.MaxInFlight = n }
}

func dryRun(r *simStrategy) { r.Mode = v1alpha1.RemediationDryRun }

func canarySize(n int32) func(*simStrategy) {
	return func(r *simStrategy) {
		r.Steps[0].Targets = intstr.FromInt32(n)
	}
}

func soaks(soak, deadline time.Duration) func(*simStrategy) {
	return func(r *simStrategy) {
		r.soak(soak)
		r.ProgressDeadline.Duration = deadline
	}
}

// play runs a scenario to its end and tells it.
func (sc scenario) play(t *testing.T, each func(simStep)) string {
	t.Helper()
	s, err := newSimulation(sc.fleet)
	if err != nil {
		t.Fatal(err)
	}
	if sc.set != nil {
		sc.set(s)
	}
	rules := newRules(s)
	steps := &trace{counts: len(s.objects) > 50}
	s.watch = func(step simStep) {
		rules.check(step)
		steps.step(step)
		each(step)
	}
	err = s.run(20000)
	steps.flush()
	if err == nil {
		err = rules.end()
	}
	if want := cmp.Or(sc.ends, v1alpha1.PhaseSucceeded); err == nil && s.rem.Status.Phase != want {
		err = fmt.Errorf("the rollout ended as %s, want %s", s.rem.Status.Phase, want)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, steps.String())
	}
	return tell(sc.reason, s, steps.String())
}

// The golden files are to be read: each is a whole rollout, with every step's
// reason. Write them anew with go test ./internal/remediate -update.
func TestRollouts(t *testing.T) {
	t.Parallel()
	var seen sync.Map // of transitionKey
	t.Cleanup(func() { everyTransitionSeen(t, &seen) })
	for name, sc := range scenarios() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sc.compare(t, name, func(s simStep) { seen.Store(keyOf(s), true) })
		})
	}
}

// A rollout of ten thousand targets is told by its numbers, as its like in TestRollouts.
func TestARolloutOfTenThousand(t *testing.T) {
	t.Parallel()
	scenario{reason: "Ten thousand targets, told by their numbers.",
		fleet: newFleet(10000).every(behaviour{Heals: 3 * time.Second}).with(concurrency(100)),
	}.compare(t, "good-10000", func(simStep) {})
}

// compare plays a scenario, and compares what came of it with its golden file.
func (sc scenario) compare(t *testing.T, name string, each func(simStep)) {
	t.Helper()
	got := sc.play(t, each)
	file := filepath.Join("testdata", "rollout", name+".golden")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v: write it with go test ./internal/remediate -update", err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", file, diff)
	}
	// The order in which the violations were found must not matter.
	slices.Reverse(sc.fleet.refs)
	slices.SortStableFunc(sc.fleet.refs, func(a, b v1alpha1.ObjectReference) int {
		return int(a.UID[6]) - int(b.UID[6])
	})
	if diff := gocmp.Diff(got, sc.play(t, func(simStep) {})); diff != "" {
		t.Errorf("with the findings shuffled (-ordered +shuffled):\n%s", diff)
	}
}

// transitionKey is a change of phase.
type transitionKey struct{ from, to v1alpha1.RemediationPhase }

func keyOf(s simStep) transitionKey {
	from := s.Observation.Status.Phase
	if from == "" {
		from = v1alpha1.PhasePlanned
	}
	return transitionKey{from, s.Intent.Phase}
}

// everyTransitionSeen proves that the table promises nothing that never happens.
func everyTransitionSeen(t *testing.T, seen *sync.Map) {
	t.Helper()
	for _, row := range rollout.Table() {
		for _, next := range row.Next {
			if _, ok := seen.Load(transitionKey{row.Phase, next}); !ok {
				t.Errorf("the table lets %s follow %s, but no scenario ever sees it: it is unreachable, or a scenario "+
					"is missing", next, row.Phase)
			}
		}
	}
}
