// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// Somebody's webhook, or the API, doesn't answer for as long as a plan bears: the
// plan ends, and neither the revision nor a breaker is blamed.
func TestAnOutageBlocksNothing(t *testing.T) {
	out := behaviour{PreErrors: 1000}
	bad := behaviour{Refuses: v1alpha1.ReasonDryRunRefused}
	cases := map[string]struct {
		reason string
		fleet  fleet
		phase  v1alpha1.RemediationPhase
		why    string
		blocks bool
	}{
		"before every write": {"no canary can be written", newFleet(30).every(out), v1alpha1.PhaseAborted,
			v1alpha1.ReasonNoAnswer, false},
		"of a small fleet": {"three candidates are all there are", newFleet(3).every(out),
			v1alpha1.PhaseAborted, v1alpha1.ReasonNoAnswer, false},
		"that some candidates don't see": {"nine are refused for good, the tenth meets the outage",
			newFleet(30).every(bad).also(4, out), v1alpha1.PhaseAborted, v1alpha1.ReasonNoAnswer, false},
		"for a fix that never applies": {"ten speak against it", newFleet(30).every(bad), v1alpha1.PhaseAborted,
			v1alpha1.ReasonNoViableCanary, true},
		"after the canary's write": {"nobody can tell whether it did harm: it is undone",
			newFleet(3).every(behaviour{CheckErrors: 1 << 20}), v1alpha1.PhaseRolledBack, v1alpha1.ReasonNoAnswer,
			false},
		"of a minute after the write": {"it passes", newFleet(3).every(behaviour{CheckErrors: 60}),
			v1alpha1.PhaseSucceeded, v1alpha1.ReasonAllTargetsSettled, false},
		"over a wave that isn't well": {
			"one look that succeeds decides", newFleet(3).every(behaviour{CheckErrors: 700, Heals: never}),
			v1alpha1.PhaseRolledBack, v1alpha1.ReasonVerificationFailed, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			s, err := newSimulation(tc.fleet.with(soaks(time.Minute, 10*time.Minute)))
			if err == nil {
				err = s.run(20000)
			}
			if err != nil {
				t.Fatal(err)
			}
			st := s.rem.Status
			if st.Phase != tc.phase || st.Reason != tc.why || st.BlocksReplanning() != tc.blocks {
				t.Errorf("%s: %s (%s), blocks %t: %s", tc.reason, st.Phase, st.Reason, st.BlocksReplanning(),
					st.Message)
			}
			for _, o := range s.told {
				if st.Reason == v1alpha1.ReasonNoAnswer && (o.Harmed() || o.Type == circuit.PlanFailed) {
					t.Errorf("%s: the breakers count %+v", tc.reason, o)
				}
			}
		})
	}
}

// An outage that begins and ends at any time while nothing is wrong with any
// object never ends in a blocked revision, nor in a failure that breakers count.
func TestNoOutageEverBlocks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := worlds(rapid.Custom(func(t *rapid.T) behaviour {
			return behaviour{Heals: durations(0, 2).Draw(t, "heals"),
				PreErrors:    rapid.SampledFrom([]int{0, 0, 1, 4, 1000}).Draw(t, "before"),
				Conflicts:    rapid.SampledFrom([]int{0, 0, 2, 1000}).Draw(t, "conflicts"),
				CheckErrors:  rapid.SampledFrom([]int{0, 0, 5, 40, 1 << 20}).Draw(t, "after"),
				RevertErrors: rapid.IntRange(0, 3).Draw(t, "undoing")}
		})).Draw(t, "world")
		w.Soak, w.Late = 5*time.Second, 15*time.Second
		s, err := w.live()
		if err != nil {
			t.Fatalf("%v", err)
		}
		if st := s.rem.Status; st.BlocksReplanning() {
			t.Fatalf("an outage ends in %s (%s): %s", st.Phase, st.Reason, st.Message)
		}
		for _, o := range s.told {
			if o.Harmed() || o.Type == circuit.PlanFailed {
				t.Fatalf("an outage counts as %+v", o)
			}
		}
	})
}
