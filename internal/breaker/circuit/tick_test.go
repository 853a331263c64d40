// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

func TestTickByTimeAlone(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	opened := outcomes(v1alpha1.RemediationBreakerStatus{}, s, "C")
	counted := outcomes(v1alpha1.RemediationBreakerStatus{}, s, "sf")
	cases := map[string]struct {
		reason string
		from   v1alpha1.RemediationBreakerStatus
		after  time.Duration
		want   gist
	}{
		"A new breaker is closed": {
			reason: "Nothing at all is set.",
			want:   gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonWithinLimits},
		},
		"A breaker that nobody has looked at yet is closed": {
			reason: "The schema's default is all that it has.",
			from:   v1alpha1.RemediationBreakerStatus{ObservedGeneration: v1alpha1.NotObserved},
			want:   gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonWithinLimits},
		},
		"A status that was observed and has no state is broken, not new": {
			reason: "Something was written, and what isn't known.",
			from:   v1alpha1.RemediationBreakerStatus{ObservedGeneration: 1},
			want: gist{State: v1alpha1.BreakerOpen, Reason: v1alpha1.ReasonInconsistentState, Openings: 1,
				OpenFor: 30 * time.Minute},
		},
		"A status with a storm's count and no state is broken, not new": {
			reason: "Whoever counts gives the breaker a state too.",
			from:   v1alpha1.RemediationBreakerStatus{Storm: &v1alpha1.BreakerStorm{Revision: "r", Violating: 3}},
			want: gist{State: v1alpha1.BreakerOpen, Reason: v1alpha1.ReasonInconsistentState, Openings: 1,
				OpenFor: 30 * time.Minute},
		},
		"A status with a condition and no state is broken, not new": {
			reason: "Something was written, and what isn't known.",
			from:   v1alpha1.RemediationBreakerStatus{Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady}}},
			want: gist{State: v1alpha1.BreakerOpen, Reason: v1alpha1.ReasonInconsistentState, Openings: 1,
				OpenFor: 30 * time.Minute},
		},
		"An open breaker stays open until its time": {
			reason: "1 s is left.", from: opened, after: 30*time.Minute - time.Second,
			want: gist{State: v1alpha1.BreakerOpen, Reason: v1alpha1.ReasonCanaryFailed, Failures: 1, Outcomes: 1,
				Openings: 1, InTheRow: 1, OpenFor: 30 * time.Minute, BucketsLen: 1},
		},
		"An open breaker turns half-open at its time": {
			reason: "nextProbeTime is reached.", from: opened, after: 30 * time.Minute,
			want: gist{State: v1alpha1.BreakerHalfOpen, Reason: v1alpha1.ReasonProbing, Openings: 1, InTheRow: 1},
		},
		"A permit that lapses is free again, and no opening": {
			reason: "A probe that doesn't end is neither a success nor a failure.", from: halfOpen("probe"),
			after: time.Hour,
			want:  gist{State: v1alpha1.BreakerHalfOpen, Reason: v1alpha1.ReasonPermitLapsed, Openings: 1},
		},
		"A permit holds until its end": {
			reason: "1 s is left.", from: halfOpen("probe"), after: time.Hour - time.Second,
			want: gist{State: v1alpha1.BreakerHalfOpen, Openings: 1, HasPermit: true},
		},
		"Outcomes stay in the window": {
			reason: "Buckets are 5 minutes long; 6 of them make the window.", from: counted,
			after: 30*time.Minute - time.Second,
			want: gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonWithinLimits, Failures: 1, Outcomes: 2,
				InTheRow: 1, BucketsLen: 1},
		},
		"Outcomes leave with the window": {
			reason: "The row of failures has no time.", from: counted, after: 30 * time.Minute,
			want: gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonWithinLimits, InTheRow: 1},
		},
		"A clock gone back keeps the outcomes of its future": {
			reason: "They are real.", from: counted, after: -20 * time.Minute,
			want: gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonWithinLimits, Failures: 1, Outcomes: 2,
				InTheRow: 1, BucketsLen: 1},
		},
		"A clock gone back takes half-open back to open": {
			reason: "The promise to stay open until nextProbeTime stands.", from: halfOpen(""),
			after: -10 * time.Minute,
			want: gist{State: v1alpha1.BreakerOpen, Reason: v1alpha1.ReasonClockWentBack, Openings: 1,
				OpenFor: 59 * time.Minute},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := circuit.Tick(tc.from, s, start.Add(tc.after))
			if diff := cmp.Diff(tc.want, gistOf(got)); diff != "" {
				t.Errorf("%s\nTick (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestOutcomesOfAFarFutureLeaveInTheEnd(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	st := circuit.Next(v1alpha1.RemediationBreakerStatus{}, circuit.Event{Type: circuit.TargetFailed, Key: "k"}, s,
		start.AddDate(5, 0, 0))
	st = circuit.Tick(st, s, start)
	if st.Failures != 1 {
		t.Errorf("failures = %d after the clock went back, want 1: the failure is real", st.Failures)
	}
	if st = circuit.Tick(st, s, start.Add(61*time.Minute)); st.Failures != 0 {
		t.Errorf("failures = %d two windows later, want 0", st.Failures)
	}
}

func TestShorterWindowKeepsSixBuckets(t *testing.T) {
	short := v1alpha1.BreakerStrategy{Window: metav1.Duration{Duration: 6 * time.Minute}, MinSamples: 1000,
		ConsecutiveFailures: 1000}
	long := short
	long.Window.Duration = 60 * time.Minute
	st := v1alpha1.RemediationBreakerStatus{}
	for i := range 6 {
		st = circuit.Next(st, circuit.Event{Type: circuit.TargetFailed}, short, start.Add(time.Duration(i)*time.Minute))
	}
	st = circuit.Next(st, circuit.Event{Type: circuit.TargetFailed}, long, start.Add(11*time.Minute))
	want := gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonWithinLimits, Failures: 7, Outcomes: 7,
		InTheRow: 7, BucketsLen: 6}
	if diff := cmp.Diff(want, gistOf(st)); diff != "" {
		t.Errorf("after the window grew (-want +got):\n%s", diff)
	}
}

func TestAnOpeningKeepsAnEarlierPromise(t *testing.T) {
	st := halfOpen("probe")
	st.OpenedTime, st.NextProbeTime = at(-time.Hour), at(-time.Minute)
	// The clock goes back five hours while the probe is under way, and it fails:
	// the doubled cooldown of 1h would end before the promised time.
	st = circuit.Next(st, circuit.Event{Type: circuit.TargetFailed, Key: "k"}, v1alpha1.BreakerStrategy{},
		start.Add(-5*time.Hour))
	if st.State != v1alpha1.BreakerOpen || !st.NextProbeTime.Time.Equal(start.Add(-time.Minute)) {
		t.Errorf("%s until %s, want Open until %s as promised before", st.State, st.NextProbeTime,
			start.Add(-time.Minute))
	}
}

func TestOnlyTheLatestOutcomesAreRemembered(t *testing.T) {
	s, st := v1alpha1.BreakerStrategy{}, v1alpha1.RemediationBreakerStatus{}
	record := func(key string) {
		st = circuit.Next(st, circuit.Event{Type: circuit.TargetSucceeded, Key: key}, s, start)
	}
	for i := range 100 {
		record(fmt.Sprintf("target-%d", i))
	}
	if n := len(st.Recorded); n != 64 || st.Recorded[0] != "target-36" || st.Recorded[63] != "target-99" {
		t.Fatalf("%d keys are remembered (%v), want the latest 64", n, st.Recorded)
	}
	if record("target-36"); st.Outcomes != 100 {
		t.Errorf("an outcome that is remembered counts again: %d outcomes, want 100", st.Outcomes)
	}
	if record("target-35"); st.Outcomes != 101 {
		t.Errorf("an outcome that isn't remembered doesn't count: %d outcomes, want 101", st.Outcomes)
	}
}
