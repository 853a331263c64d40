// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

func objective(percent string, period time.Duration) v1alpha1.BreakerStrategy {
	return v1alpha1.BreakerStrategy{
		SLO: &v1alpha1.SLOStrategy{Query: "q", Objective: percent, Period: metav1.Duration{Duration: period}}}
}

func TestBurn(t *testing.T) {
	month := objective("99.9", 0)
	cases := map[string]struct {
		reason   string
		strategy v1alpha1.BreakerStrategy
		answer   circuit.Answer
		verdict  v1alpha1.SLOVerdict
		state    v1alpha1.BreakerState
		says     string
	}{
		"No errors spend nothing": {
			reason: "0 of the budget.", strategy: month, verdict: v1alpha1.SLOWithin, state: v1alpha1.BreakerClosed,
			says: "spent 0.0 %",
		},
		"Every third request failing for an hour is within half a month's budget": {
			reason: "0.33 / (0.001 * 720) = 0.46.", strategy: month, answer: circuit.Answer{Ratio: 0.33},
			verdict: v1alpha1.SLOWithin, state: v1alpha1.BreakerClosed, says: "spent 45.8 %",
		},
		"Exactly half is not more than half": {
			reason: "0.36 / 0.72.", strategy: objective("99.9", 720*time.Hour), answer: circuit.Answer{Ratio: 0.36},
			verdict: v1alpha1.SLOWithin, state: v1alpha1.BreakerClosed, says: "spent 50.0 %",
		},
		"An outage opens": {
			reason: "1 / 0.72.", strategy: month, answer: circuit.Answer{Ratio: 1},
			verdict: v1alpha1.SLOBurning, state: v1alpha1.BreakerOpen, says: "spent 138.9 %",
		},
		"A short period spends faster": {
			reason: "0.1 / (0.01 * 10) = 1.", strategy: objective("99", 10*time.Hour),
			answer:  circuit.Answer{Ratio: 0.1},
			verdict: v1alpha1.SLOBurning, state: v1alpha1.BreakerOpen, says: "spent 100.0 %",
		},
		"No answer opens nothing and lets nothing through": {
			reason: "Unknown is never a pass.", strategy: month,
			answer:  circuit.Answer{Err: errors.New("connection refused")},
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: "connection refused",
		},
		"NaN is no answer": {
			reason: "0 requests of 0.", strategy: month, answer: circuit.Answer{Ratio: math.NaN()},
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: "NaN",
		},
		"A percentage in the place of a ratio is no answer": {
			reason: "The query is wrong.", strategy: month, answer: circuit.Answer{Ratio: 42},
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: "from 0 to 1",
		},
		"A negative ratio is no answer": {
			reason: "The query is wrong.", strategy: month, answer: circuit.Answer{Ratio: -0.1},
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: "from 0 to 1",
		},
		"An objective of 100 leaves no budget, and is refused": {
			reason: "It would divide by zero.", strategy: objective("100", 0),
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: `objective "100"`,
		},
		"An objective that isn't a number is refused": {
			reason: "It got past the schema.", strategy: objective("three nines", 0),
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: `objective "three nines"`,
		},
		"A period of less than an hour is refused": {
			reason: "An hour would spend it all.", strategy: objective("99", time.Minute),
			verdict: v1alpha1.SLOUnknown, state: v1alpha1.BreakerClosed, says: "period 1m0s",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			st := circuit.Burn(v1alpha1.RemediationBreakerStatus{}, tc.answer, tc.strategy, start)
			if st.SLO.Verdict != tc.verdict || st.State != tc.state || !strings.Contains(st.SLO.Message, tc.says) {
				t.Fatalf("%s\n%s, %+v; want %s, %s, message with %q", tc.reason, st.State, st.SLO, tc.state, tc.verdict,
					tc.says)
			}
			v := circuit.SLOGate("policy-tags", &st, tc.strategy, circuit.DefaultSLOInterval, start.Add(time.Second))
			if v.Allowed != (tc.verdict == v1alpha1.SLOWithin) || !v.Allowed && (v.Reason == "" || v.Message == "") {
				t.Errorf("%s\nthe gate says %+v", tc.reason, v)
			}
			if tc.state == v1alpha1.BreakerOpen && st.Reason != v1alpha1.ReasonSLOBurn {
				t.Errorf("opened by %s", st.Reason)
			}
		})
	}
}

func TestAnAnswerHoldsForThirtySeconds(t *testing.T) {
	s := objective("99.9", 0)
	fresh := circuit.Burn(v1alpha1.RemediationBreakerStatus{}, circuit.Answer{}, s, start)
	cases := map[string]struct {
		reason string
		st     v1alpha1.RemediationBreakerStatus
		s      v1alpha1.BreakerStrategy
		after  time.Duration
		due    bool
	}{
		"Nothing is asked without an objective": {
			reason: "There is no query.", st: v1alpha1.RemediationBreakerStatus{}},
		"A first answer is due at once": {reason: "No answer is never a yes.", s: s, due: true},
		"An answer holds":               {reason: "29 s.", st: fresh, s: s, after: 29 * time.Second},
		"An answer gets old": {reason: "30 s.", st: fresh, s: s, after: 30 * time.Second,
			due: true},
		"An answer of the future is asked for anew": {reason: "The clock went back.", st: fresh, s: s,
			after: -time.Second, due: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := start.Add(tc.after)
			if got := circuit.SLODue(&tc.st, tc.s, circuit.DefaultSLOInterval, now); got != tc.due {
				t.Errorf("%s\ndue = %t, want %t", tc.reason, got, tc.due)
			}
			if v := circuit.SLOGate("policy-tags", &tc.st, tc.s, circuit.DefaultSLOInterval, now); v.Allowed == tc.due {
				t.Errorf("%s\nthe gate says %+v though an answer is due: %t", tc.reason, v, tc.due)
			}
		})
	}
}

func TestAnObjectiveThatIsGoneIsForgotten(t *testing.T) {
	st := circuit.Burn(v1alpha1.RemediationBreakerStatus{}, circuit.Answer{Ratio: 1}, objective("99.9", 0), start)
	st = circuit.Burn(st, circuit.Answer{}, v1alpha1.BreakerStrategy{}, start.Add(time.Second))
	if st.SLO != nil || st.State != v1alpha1.BreakerOpen {
		t.Errorf("%s with %+v; want the answer gone, and the breaker as open as it was", st.State, st.SLO)
	}
}

// What was spent grows with the ratio and falls with the period, and a full hour
// at the objective's own error rate spends just its share of the period.
func TestSpentIsAShareOfTheBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		hours := rapid.IntRange(1, 10_000).Draw(t, "hours")
		slo := *objective(rapid.SampledFrom([]string{"50", "99", "99.9", "99.99", "99.999999"}).Draw(t, "objective"),
			time.Duration(hours)*time.Hour).SLO
		budget := map[string]float64{"50": 0.5, "99": 0.01, "99.9": 0.001, "99.99": 0.0001,
			"99.999999": 1e-8}[slo.Objective]
		share, err := circuit.Spent(budget, slo)
		if err != nil || math.Abs(share*float64(hours)-1) > 1e-6 {
			t.Fatalf("an hour at the budget's own rate spends %v of %d hours (%v)", share, hours, err)
		}
		low, high := rapid.Float64Range(0, 1).Draw(t, "a"), rapid.Float64Range(0, 1).Draw(t, "b")
		a, errA := circuit.Spent(min(low, high), slo)
		b, errB := circuit.Spent(max(low, high), slo)
		if errA != nil || errB != nil || a > b || a < 0 {
			t.Fatalf("%v of errors spend %v, %v spend %v (%v, %v)", low, a, high, b, errA, errB)
		}
	})
}
