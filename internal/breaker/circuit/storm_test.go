// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// count is a complete scan at a time after start.
type count struct {
	after    time.Duration
	objects  int32
	revision string
}

func weather(st v1alpha1.RemediationBreakerStatus, counts ...count) v1alpha1.RemediationBreakerStatus {
	for _, c := range counts {
		if c.revision == "" {
			c.revision = "r1"
		}
		st = circuit.Storm(st, circuit.Violations{Revision: c.revision, Objects: c.objects}, v1alpha1.BreakerStrategy{},
			start.Add(c.after))
	}
	return st
}

func TestStorm(t *testing.T) {
	const m = time.Minute
	cases := map[string]struct {
		reason string
		counts []count
		want   v1alpha1.BreakerState
	}{
		"Ten thousand violations in a policy's first scan are no storm": {
			reason: "Nothing is known from before.", counts: []count{{0, 10_000, ""}}, want: v1alpha1.BreakerClosed,
		},
		"Those of a new revision aren't either": {
			reason: "A new rule finds what was there.", counts: []count{{0, 3, ""}, {m, 10_000, "r2"}},
			want: v1alpha1.BreakerClosed,
		},
		"A hundred new violations open": {
			reason: "The limit is 100.", counts: []count{{0, 7, ""}, {m, 107, ""}}, want: v1alpha1.BreakerOpen,
		},
		"Ninety-nine don't": {
			reason: "The limit is 100.", counts: []count{{0, 7, ""}, {m, 106, ""}}, want: v1alpha1.BreakerClosed,
		},
		"Many small rises within the window add up": {
			reason: "100 within 25 minutes.", counts: []count{{0, 0, ""}, {10 * m, 50, ""}, {25 * m, 100, ""}},
			want: v1alpha1.BreakerOpen,
		},
		"Slow growth doesn't": {
			reason: "No half hour sees 100 more.",
			counts: []count{{0, 0, ""}, {20 * m, 60, ""}, {40 * m, 90, ""}, {60 * m, 150, ""}},
			want:   v1alpha1.BreakerClosed,
		},
		"A rise is measured from the lowest point, not from the first": {
			reason: "A rollout fixes 200, then something breaks 120.",
			counts: []count{{0, 200, ""}, {m, 0, ""}, {2 * m, 120, ""}}, want: v1alpha1.BreakerOpen,
		},
		"A rise while nobody counted is sudden all the same": {
			reason: "The number of three days ago stood until now; the controller was down.",
			counts: []count{{0, 5, ""}, {72 * time.Hour, 500, ""}}, want: v1alpha1.BreakerOpen,
		},
		"A rise across a clock gone back counts": {
			reason: "What was counted in the future was real.", counts: []count{{time.Hour, 5, ""}, {0, 500, ""}},
			want: v1alpha1.BreakerOpen,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			st := weather(v1alpha1.RemediationBreakerStatus{}, tc.counts...)
			if st.State != tc.want {
				t.Errorf("%s\nthe breaker is %s (%s: %s), want %s", tc.reason, st.State, st.Reason, st.Message, tc.want)
			}
			if st.State == v1alpha1.BreakerOpen && st.Reason != v1alpha1.ReasonStorm {
				t.Errorf("opened by %s, want %s", st.Reason, v1alpha1.ReasonStorm)
			}
		})
	}
}

func TestAStormIsCountedOnce(t *testing.T) {
	st := weather(v1alpha1.RemediationBreakerStatus{}, count{0, 0, ""}, count{time.Minute, 150, ""})
	long := v1alpha1.BreakerStrategy{Window: metav1.Duration{Duration: 10 * time.Hour}}
	st = circuit.Storm(st, circuit.Violations{Revision: "r1", Objects: 160}, long,
		start.Add(31*time.Minute+time.Second))
	if st.State != v1alpha1.BreakerHalfOpen || st.Openings != 1 {
		t.Errorf("cooled down, the breaker is %s at opening %d (%s); want HalfOpen at 1: the storm was counted",
			st.State, st.Openings, st.Message)
	}
	st = circuit.Storm(st, circuit.Violations{Revision: "r1", Objects: 260}, long, start.Add(32*time.Minute))
	if st.State != v1alpha1.BreakerOpen || st.Openings != 2 {
		t.Errorf("110 more while half-open: %s at opening %d, want Open at 2", st.State, st.Openings)
	}
}

// The model of a storm remembers every count. Bucketing may only make the breaker
// look back a little less far than the window, never further.
func TestAStormIsARiseWithinTheWindow(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := v1alpha1.BreakerStrategy{Window: metav1.Duration{Duration: 30 * time.Minute},
			Storm: v1alpha1.StormStrategy{NewViolations: rapid.Int32Range(1, 40).Draw(t, "limit")}}
		var st v1alpha1.RemediationBreakerStatus
		var past []count
		now := time.Duration(0)
		for range rapid.IntRange(1, 40).Draw(t, "counts") {
			now += time.Duration(rapid.Int64Range(0, int64(20*time.Minute)).Draw(t, "step"))
			c := count{now, rapid.Int32Range(0, 60).Draw(t, "objects"), "r1"}
			st = circuit.Storm(st, circuit.Violations{Revision: c.revision, Objects: c.objects}, s, start.Add(now))
			requireSound(t, st)
			must, may := rises(past, c, 25*time.Minute, s.Storm.NewViolations),
				rises(past, c, 30*time.Minute, s.Storm.NewViolations)
			tripped := st.State == v1alpha1.BreakerOpen
			if must && !tripped {
				t.Fatalf("%v after %v doesn't open at limit %d: %+v", c, past, s.Storm.NewViolations, st.Storm)
			}
			if tripped && !may {
				t.Fatalf("%v after %v opens at limit %d", c, past, s.Storm.NewViolations)
			}
			if tripped {
				return
			}
			past = append(past, c)
		}
	})
}

// rises says whether c is limit more than at some time within the window: the
// count before the window stood until the next one.
func rises(past []count, c count, window time.Duration, limit int32) bool {
	if len(past) == 0 {
		return false
	}
	least := past[len(past)-1].objects
	for i, p := range slices.Backward(past) {
		if c.after-p.after >= window {
			if i+1 < len(past) && c.after-past[i+1].after < window {
				least = min(least, p.objects)
			}
			break
		}
		least = min(least, p.objects)
	}
	return c.objects-least >= limit
}

func TestAStormSurvivesARestartAndABrokenStatusIsOpen(t *testing.T) {
	st := weather(v1alpha1.RemediationBreakerStatus{}, count{0, 40, ""})
	copied := *st.DeepCopy() // what a restart reads back
	if got := weather(copied, count{time.Minute, 140, ""}).State; got != v1alpha1.BreakerOpen {
		t.Errorf("after a restart the breaker is %s, want Open", got)
	}
	copied.Storm.Buckets[0].Least = -1
	if got := circuit.Tick(copied, v1alpha1.BreakerStrategy{}, start); got.State != v1alpha1.BreakerOpen ||
		got.Storm != nil {
		t.Errorf("a negative count gives %s with %+v, want Open and the counts forgotten", got.State, got.Storm)
	}
}
