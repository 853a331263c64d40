// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *metav1.MicroTime {
	m := metav1.NewMicroTime(start.Add(d))
	return &m
}

// outcomes records the events one second apart from start: s and f are a
// target's success and failure, C a failed canary, P and R a plan's success and
// failure under the permit of "probe".
func outcomes(st v1alpha1.RemediationBreakerStatus, s v1alpha1.BreakerStrategy,
	letters string) v1alpha1.RemediationBreakerStatus {
	types := map[rune]circuit.EventType{
		's': circuit.TargetSucceeded, 'f': circuit.TargetFailed, 'C': circuit.CanaryFailed,
		'P': circuit.PlanSucceeded, 'R': circuit.PlanFailed,
	}
	for i, letter := range letters {
		e := circuit.Event{Type: types[letter], Key: fmt.Sprintf("%s/%d", letters, i), Remediation: "probe"}
		st = circuit.Next(st, e, s, start.Add(time.Duration(i)*time.Second))
	}
	return st
}

// halfOpen is a breaker that has cooled down by start, with or without a permit.
func halfOpen(holder string) v1alpha1.RemediationBreakerStatus {
	st := v1alpha1.RemediationBreakerStatus{
		State: v1alpha1.BreakerHalfOpen, OpenedTime: at(-time.Hour), NextProbeTime: at(-time.Minute), Openings: 1,
	}
	if holder != "" {
		st.Permit = &v1alpha1.BreakerPermit{Remediation: holder, ExpirationTime: *at(time.Hour)}
	}
	return st
}

// gist is what the tables compare.
type gist struct {
	State      v1alpha1.BreakerState
	Reason     string
	Failures   int32
	Outcomes   int32
	Openings   int32
	Successes  int32
	HasPermit  bool
	OpenFor    time.Duration
	InTheRow   int32
	BucketsLen int
}

func gistOf(st v1alpha1.RemediationBreakerStatus) gist {
	g := gist{
		State: st.State, Reason: st.Reason, Failures: st.Failures, Outcomes: st.Outcomes, Openings: st.Openings,
		Successes: st.HalfOpenSuccesses, HasPermit: st.Permit != nil, InTheRow: st.ConsecutiveFailures,
		BucketsLen: len(st.Buckets),
	}
	if st.State == v1alpha1.BreakerOpen {
		g.OpenFor = st.NextProbeTime.Sub(st.OpenedTime.Time)
	}
	return g
}

func TestNext(t *testing.T) {
	const half = 30 * time.Minute
	closed, open, halfway := v1alpha1.BreakerClosed, v1alpha1.BreakerOpen, v1alpha1.BreakerHalfOpen
	cases := map[string]struct {
		reason string
		from   v1alpha1.RemediationBreakerStatus
		events string
		want   gist
	}{
		"Two failures in a row stay closed": {
			reason: "The limit is 3.",
			events: "ff", want: gist{State: closed, Reason: v1alpha1.ReasonWithinLimits, Failures: 2, Outcomes: 2,
				InTheRow: 2, BucketsLen: 1},
		},
		"Three failures in a row open": {
			reason: "The limit is 3.", events: "fff",
			want: gist{State: open, Reason: v1alpha1.ReasonConsecutiveFailures, Failures: 3, Outcomes: 3, InTheRow: 3,
				Openings: 1, OpenFor: half, BucketsLen: 1},
		},
		"A success ends the row": {
			reason: "Four outcomes are too few for the ratio.", events: "ffsf",
			want: gist{State: closed, Reason: v1alpha1.ReasonWithinLimits, Failures: 3, Outcomes: 4, InTheRow: 1,
				BucketsLen: 1},
		},
		"A fifth of at least five opens": {
			reason: "1 of 5 is 20 %.", events: "ssssf",
			want: gist{State: open, Reason: v1alpha1.ReasonFailurePercent, Failures: 1, Outcomes: 5, InTheRow: 1,
				Openings: 1, OpenFor: half, BucketsLen: 1},
		},
		"The ratio doesn't depend on the order of outcomes": {
			reason: "1 of 5, the failure first.", events: "fssss",
			want: gist{State: open, Reason: v1alpha1.ReasonFailurePercent, Failures: 1, Outcomes: 5, Openings: 1,
				OpenFor: half, BucketsLen: 1},
		},
		"Less than a fifth stays closed": {
			reason: "1 of 6 is 16.7 %.", events: "sssssf",
			want: gist{State: closed, Reason: v1alpha1.ReasonWithinLimits, Failures: 1, Outcomes: 6, InTheRow: 1,
				BucketsLen: 1},
		},
		"Successes alone never open": {
			reason: "0 of 8.", events: "ssssssss",
			want: gist{State: closed, Reason: v1alpha1.ReasonWithinLimits, Outcomes: 8, BucketsLen: 1},
		},
		"A failed canary opens at once": {
			reason: "A canary exists to be believed.", events: "C",
			want: gist{State: open, Reason: v1alpha1.ReasonCanaryFailed, Failures: 1, Outcomes: 1, InTheRow: 1,
				Openings: 1, OpenFor: half, BucketsLen: 1},
		},
		"A plan's end means nothing to a closed breaker": {
			reason: "Its targets are counted one by one.", events: "RRRRRP",
			want: gist{State: closed, Reason: v1alpha1.ReasonWithinLimits},
		},
		"Outcomes while open are counted, but don't open it again": {
			reason: "They are of writes made before.", events: "CfCfR",
			want: gist{State: open, Reason: v1alpha1.ReasonCanaryFailed, Failures: 4, Outcomes: 4, InTheRow: 4,
				Openings: 1, OpenFor: half, BucketsLen: 1},
		},
		"One plan's success keeps the breaker half-open and frees the permit": {
			reason: "Two are needed.", from: halfOpen("probe"), events: "sP",
			want: gist{State: halfway, Reason: v1alpha1.ReasonProbing, Outcomes: 1, Openings: 1, Successes: 1,
				BucketsLen: 1},
		},
		"A plan without the permit proves nothing": {
			reason: "It may have written before the breaker opened.", from: halfOpen("other"), events: "P",
			want: gist{State: halfway, Openings: 1, HasPermit: true},
		},
		"A target's failure in half-open opens again for twice as long": {
			reason: "Second opening.", from: halfOpen("probe"), events: "f",
			want: gist{State: open, Reason: v1alpha1.ReasonProbeFailed, Failures: 1, Outcomes: 1, InTheRow: 1,
				Openings: 2, OpenFor: 2 * half, BucketsLen: 1},
		},
		"A plan's failure in half-open opens again": {
			reason: "Rolled back though no target failed: still harm.", from: halfOpen("probe"), events: "R",
			want: gist{State: open, Reason: v1alpha1.ReasonProbeFailed, Openings: 2, OpenFor: 2 * half},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := outcomes(tc.from, v1alpha1.BreakerStrategy{}, tc.events)
			if diff := cmp.Diff(tc.want, gistOf(got)); diff != "" {
				t.Errorf("%s\nafter %s (-want +got):\n%s", tc.reason, tc.events, diff)
			}
		})
	}
}

func TestTwoProbesCloseAndStartAfresh(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	st := halfOpen("")
	st.ConsecutiveFailures = 3
	for i, plan := range []string{"first", "second"} {
		now := start.Add(time.Duration(i) * time.Minute)
		var v circuit.Verdict
		st, v = circuit.Admit(&v1alpha1.RemediationBreaker{Status: st}, plan, s, now, time.Hour)
		if !v.Allowed {
			t.Fatalf("plan %s isn't let through: %+v", plan, v)
		}
		st = circuit.Next(st, circuit.Event{Type: circuit.PlanSucceeded, Key: plan, Remediation: plan}, s, now)
	}
	if diff := cmp.Diff(gist{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonRecovered}, gistOf(st)); diff != "" {
		t.Fatalf("after two successes (-want +got):\n%s", diff)
	}
	st = circuit.Next(st, circuit.Event{Type: circuit.CanaryFailed, Key: "third"}, s, start.Add(time.Hour))
	if got := gistOf(st).OpenFor; got != 30*time.Minute {
		t.Errorf("the first opening after recovery lasts %s, want the undoubled 30m", got)
	}
}

func TestOpen(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	st := circuit.Open(v1alpha1.RemediationBreakerStatus{}, v1alpha1.ReasonPolicyBreakersOpen,
		circuit.MessagePolicyBreakersOpen(3), s, start)
	want := gist{State: v1alpha1.BreakerOpen, Reason: v1alpha1.ReasonPolicyBreakersOpen, Openings: 1,
		OpenFor: 30 * time.Minute}
	if diff := cmp.Diff(want, gistOf(st)); diff != "" {
		t.Errorf("Open (-want +got):\n%s", diff)
	}
	if again := circuit.Open(st, "Other", "other", s, start.Add(time.Minute)); !cmp.Equal(st, again) {
		t.Errorf("opening an open breaker changed it:\n%s", cmp.Diff(st, again))
	}
	long := circuit.Open(v1alpha1.RemediationBreakerStatus{}, strings.Repeat("R", 99), strings.Repeat("é", 5000), s,
		start)
	if n := len([]rune(long.Message)); n > 1024 || !strings.Contains(long.Message, "2026-03-01T12:30:00Z") {
		t.Errorf("message of %d characters must keep to 1024 and say until when: %s", n, long.Message)
	}
	if n := len([]rune(long.Reason)); n > 64 {
		t.Errorf("reason of %d characters must keep to 64", n)
	}
}

func TestMessagesNameTheBreakerToReset(t *testing.T) {
	st := circuit.Open(v1alpha1.RemediationBreakerStatus{}, "R", strings.Repeat("é", 5000), v1alpha1.BreakerStrategy{},
		start)
	for range 3 {
		st.RecentOpeningTimes = append(st.RecentOpeningTimes, *circuit.MicroTime(start))
	}
	st = circuit.Demotion(st, "r1", start)
	if st.Demoted == nil {
		t.Fatal("isn't demoted")
	}
	unnamed := st.DeepCopy()
	name := "namespace-" + strings.Repeat("n", 63)
	named := circuit.Named(circuit.Named(st, name), name)
	for _, message := range []string{named.Message, named.Demoted.Message} {
		if !strings.Contains(message, "evenkeel breaker reset "+name+" --reason") || len([]rune(message)) > 1024 {
			t.Errorf("%d characters, or no command to copy: %s", len([]rune(message)), message)
		}
	}
	if diff := cmp.Diff(*unnamed, st); diff != "" {
		t.Errorf("the status given is changed:\n%s", diff)
	}
}

func TestForShared(t *testing.T) {
	for from, want := range map[circuit.EventType]circuit.EventType{
		circuit.CanaryFailed: circuit.TargetFailed, circuit.TargetSucceeded: circuit.TargetSucceeded,
		circuit.PlanFailed: circuit.PlanFailed,
	} {
		if got := (circuit.Event{Type: from}).ForShared().Type; got != want {
			t.Errorf("%s becomes %s, want %s", from, got, want)
		}
	}
}
