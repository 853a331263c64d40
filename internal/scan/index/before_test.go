// SPDX-License-Identifier: Apache-2.0

package index

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// fleet is a pass over some objects, the first of which violate, or can't be judged for -1, and the others comply.
func (f *fixture) fleet(objects, first, verdict int) (out []*Judged) {
	for i := range objects {
		violations := 0
		if i < first {
			violations = verdict
		}
		out = append(out, f.object(configMaps, fmt.Sprint(i), map[string]int{"p": violations}))
	}
	return out
}

// TestUnknownReferencesAreNoStorm has a hundred and fifty objects violate all along, and what the rules look up be
// unknown for a while: the breaker must not open, and nobody be told that they began to violate, or don't any more.
func TestUnknownReferencesAreNoStorm(t *testing.T) {
	const violating = 150
	for name, began := range map[string]int{"after weeks": violating, "from the start of the manager": -1} {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.inForce(def("p", "r1", configMaps))
			// The breaker remembers more than this process.
			st := circuit.Storm(v1alpha1.RemediationBreakerStatus{},
				circuit.Violations{Revision: "r1", Objects: violating}, v1alpha1.BreakerStrategy{}, epoch)
			look := func(at time.Duration) {
				n, revision, complete := f.Violating("p")
				if complete {
					st = circuit.Storm(st, circuit.Violations{Revision: revision, Objects: int32(n)},
						v1alpha1.BreakerStrategy{}, epoch.Add(at))
				}
			}
			if began > 0 {
				f.pass(configMaps, f.fleet(violating, began, 1)...)
				look(0)
			}
			f.pass(configMaps, f.fleet(violating, violating, -1)...)
			look(2 * time.Minute)
			f.pass(configMaps, f.fleet(violating, violating, 1)...)
			look(4 * time.Minute)
			newcomers, _ := f.Newcomers("p", time.Time{})
			if st.State == v1alpha1.BreakerOpen || len(f.found) > 0 || len(newcomers) > 0 {
				t.Errorf("the breaker is %q, %d objects count as new", st.State, len(f.found))
			}
			f.pass(configMaps, f.fleet(2*violating, 2*violating, 1)...)
			look(6 * time.Minute)
			if st.State != v1alpha1.BreakerOpen || len(f.found) != violating {
				t.Errorf("of a storm that follows the breaker is %q, %d objects count as new", st.State, len(f.found))
			}
		})
	}
}

// TestHowManyViolateWhileSomeCantBeJudged holds the number, and where they are, to what was known before.
func TestHowManyViolateWhileSomeCantBeJudged(t *testing.T) {
	type want struct {
		Violating int
		In        []v1alpha1.ViolatingNamespace
		Complete  bool
	}
	in := func(n int32) []v1alpha1.ViolatingNamespace {
		return []v1alpha1.ViolatingNamespace{{Namespace: "ns", Violating: n}}
	}
	cases := map[string]struct {
		reason string
		passes func(f *fixture) [][]*Judged
		want   want
	}{
		"those that violated still do": {
			reason: "nothing says that they comply",
			passes: func(f *fixture) [][]*Judged { return [][]*Judged{f.fleet(20, 5, 1), f.fleet(20, 20, -1)} },
			want:   want{5, in(5), true},
		},
		"those that are gone don't": {
			reason: "that they are gone is known",
			passes: func(f *fixture) [][]*Judged { return [][]*Judged{f.fleet(20, 5, 1), f.fleet(3, 3, -1)} },
			want:   want{3, in(3), true},
		},
		"none could ever be judged": {
			reason: "none that violates is known, which isn't none",
			passes: func(f *fixture) [][]*Judged { return [][]*Judged{f.fleet(20, 20, -1)} },
			want:   want{0, []v1alpha1.ViolatingNamespace{}, false},
		},
		"a tenth could never be judged": {
			reason: "whoever makes an object that can't be judged doesn't turn the breaker off by it",
			passes: func(f *fixture) [][]*Judged { return [][]*Judged{f.fleet(20, 2, -1)} },
			want:   want{0, []v1alpha1.ViolatingNamespace{}, true},
		},
		"more than a tenth could never be judged": {
			reason: "the references became known in the middle of the pass",
			passes: func(f *fixture) [][]*Judged { return [][]*Judged{f.fleet(20, 3, -1)} },
			want:   want{0, []v1alpha1.ViolatingNamespace{}, false},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			f := newFixture()
			f.inForce(def("p", "r1", configMaps))
			for _, objects := range tc.passes(f) {
				f.pass(configMaps, objects...)
			}
			got := want{In: f.ViolatingIn("p")}
			got.Violating, _, got.Complete = f.Violating("p")
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
