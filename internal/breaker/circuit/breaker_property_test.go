// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

var events = []circuit.EventType{
	circuit.TargetSucceeded, circuit.TargetFailed, circuit.CanaryFailed, circuit.PlanSucceeded, circuit.PlanFailed,
	"Unheard",
}

func drawEvent(t *rapid.T) circuit.Event {
	return circuit.Event{
		Type:        rapid.SampledFrom(events).Draw(t, "type"),
		Key:         rapid.OneOf(rapid.StringMatching(`k[0-9]{0,2}`), rapid.StringN(120, 140, -1)).Draw(t, "key"),
		Remediation: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "plan"),
	}
}

func drawViolations(t *rapid.T) circuit.Violations {
	return circuit.Violations{Revision: rapid.SampledFrom([]string{"r1", "r2"}).Draw(t, "revision"),
		Objects: rapid.Int32Range(0, 1<<31-1).Draw(t, "violating")}
}

func drawLimits(t *rapid.T) v1alpha1.BreakerStrategy {
	d := func(name string) metav1.Duration {
		return metav1.Duration{
			Duration: time.Duration(rapid.Int64Range(-int64(time.Hour), int64(30*time.Hour)).Draw(t, name))}
	}
	return v1alpha1.BreakerStrategy{
		ConsecutiveFailures: rapid.Int32Range(-1, 6).Draw(t, "consecutive"),
		FailurePercent:      rapid.Int32Range(-1, 101).Draw(t, "ratio"),
		MinSamples:          rapid.Int32Range(-1, 9).Draw(t, "minSamples"), Window: d("window"),
		Cooldown: d("cooldown"),
		Storm:    v1alpha1.StormStrategy{NewViolations: rapid.Int32Range(-1, 300).Draw(t, "newViolations")},
	}
}

// drawTime moves the clock, mostly ahead and at times back or far away.
func drawTime(t *rapid.T, now time.Time) time.Time {
	limit := rapid.SampledFrom([]int64{int64(time.Minute), int64(2 * time.Hour), int64(2000 * time.Hour)}).Draw(
		t, "scale")
	return now.Add(time.Duration(rapid.Int64Range(-limit/4, limit).Draw(t, "step")))
}

// drawStatus is any status that the API server could hand back, right or not.
func drawStatus(t *rapid.T) v1alpha1.RemediationBreakerStatus {
	when := func(name string) *metav1.MicroTime {
		switch rapid.IntRange(0, 4).Draw(t, name+" set") {
		case 0:
			return nil
		case 1:
			return &metav1.MicroTime{}
		}
		return at(time.Duration(rapid.Int64Range(-int64(100*time.Hour), int64(100*time.Hour)).Draw(t, name)))
	}
	n := rapid.Int32Range(-2, 1<<31-1)
	st := v1alpha1.RemediationBreakerStatus{
		State: v1alpha1.BreakerState(
			rapid.SampledFrom([]string{"", "Closed", "Open", "HalfOpen", "open"}).Draw(t, "state")),
		OpenedTime: when("openedTime"), NextProbeTime: when("nextProbeTime"),
		Reason: "Any", Message: "Any.",
		Openings: n.Draw(t, "openings"), ConsecutiveFailures: n.Draw(t, "row"),
		HalfOpenSuccesses: n.Draw(t, "half-open successes"),
	}
	if rapid.Bool().Draw(t, "storm") {
		st.Storm = &v1alpha1.BreakerStorm{Revision: "r1", Violating: n.Draw(t, "violating"), SampledTime: *at(0),
			Buckets: []v1alpha1.BreakerStormBucket{{StartTime: *at(time.Hour), Least: n.Draw(t, "least")}}}
	}
	for range rapid.IntRange(0, 2).Draw(t, "recent openings") {
		st.RecentOpeningTimes = append(st.RecentOpeningTimes,
			*at(time.Duration(rapid.Int64Range(-int64(30*time.Hour), int64(time.Hour)).Draw(t, "opening"))))
	}
	for range rapid.IntRange(0, 8).Draw(t, "buckets") {
		start := when("bucket")
		if start == nil {
			start = &metav1.MicroTime{}
		}
		st.Buckets = append(st.Buckets,
			v1alpha1.BreakerBucket{StartTime: *start, Successes: n.Draw(t, "s"), Failures: n.Draw(t, "f")})
	}
	if rapid.Bool().Draw(t, "permit") {
		st.Permit = &v1alpha1.BreakerPermit{Remediation: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "holder")}
		if end := when("permit ends"); end != nil {
			st.Permit.ExpirationTime = *end
		}
	}
	return st
}

// requireSound fails unless st is one of the three states, bounded, and with the
// sums that its buckets give.
func requireSound(t *rapid.T, st v1alpha1.RemediationBreakerStatus) {
	t.Helper()
	switch st.State {
	case v1alpha1.BreakerClosed:
	case v1alpha1.BreakerOpen, v1alpha1.BreakerHalfOpen:
		if st.OpenedTime.IsZero() || st.NextProbeTime.IsZero() || st.NextProbeTime.Time.Before(st.OpenedTime.Time) ||
			st.Openings < 1 {
			t.Fatalf("%s from %v until %v at opening %d", st.State, st.OpenedTime, st.NextProbeTime, st.Openings)
		}
	default:
		t.Fatalf("state %q", st.State)
	}
	if (st.Permit != nil && st.State != v1alpha1.BreakerHalfOpen) || st.Reason == "" || st.Message == "" {
		t.Fatalf("%s with permit %v, reason %q, message %q", st.State, st.Permit, st.Reason, st.Message)
	}
	if len(st.RecentOpeningTimes) > 3 || st.Storm != nil && len(st.Storm.Buckets) > 6 {
		t.Fatalf("%d openings, storm %+v", len(st.RecentOpeningTimes), st.Storm)
	}
	if len(st.Buckets) > 6 || len(st.Recorded) > 64 || len([]rune(st.Message)) > 1024 {
		t.Fatalf("%d buckets, %d recorded, message of %d", len(st.Buckets), len(st.Recorded), len([]rune(st.Message)))
	}
	for _, key := range st.Recorded {
		if len(key) > 128 {
			t.Fatalf("recorded key of %d bytes", len(key))
		}
	}
	for i, b := range st.Buckets {
		if b.Successes < 0 || b.Failures < 0 || (i > 0 && !st.Buckets[i-1].StartTime.Time.Before(b.StartTime.Time)) {
			t.Fatalf("buckets %v", st.Buckets)
		}
	}
	if st.Failures < 0 || st.Outcomes < st.Failures {
		t.Fatalf("%d failures of %d outcomes", st.Failures, st.Outcomes)
	}
}

func TestABreakerKeepsItsWordWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := drawLimits(t), start
		var st v1alpha1.RemediationBreakerStatus
		var promised time.Time
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = drawTime(t, now)
			before := st
			switch rapid.IntRange(0, 6).Draw(t, "what") {
			case 0:
				st = circuit.Tick(st, s, now)
			case 1:
				plan := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "asks")
				next, v := circuit.Admit(breaker("", st), plan, s, now, time.Hour)
				held := before.Permit != nil && before.Permit.Remediation == plan
				if v.Allowed && next.State == v1alpha1.BreakerOpen {
					t.Fatalf("step %d: allowed while open", i)
				}
				if v.Allowed && now.Before(promised) && !held {
					t.Fatalf("step %d: allowed at %s, open until %s", i, now, promised)
				}
				st = next
			case 2:
				st = circuit.Open(st, "Test", "A test.", s, now)
			case 3:
				st = circuit.Storm(st, drawViolations(t), s, now)
			case 4:
				ratio := rapid.SampledFrom([]float64{0, 0.5, 1, math.NaN()}).Draw(t, "ratio")
				st = circuit.Demotion(circuit.Burn(st, circuit.Answer{Ratio: ratio}, objective("99", 0), now), "r1",
					now)
			default:
				st = circuit.Next(st, drawEvent(t), s, now)
			}
			requireSound(t, st)
			promised = time.Time{}
			if st.NextProbeTime != nil {
				promised = st.NextProbeTime.Time
			}
		}
	})
}

func TestAnyStatusBecomesSoundAndRefusesWhenBroken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, st, now := drawLimits(t), drawStatus(t), drawTime(t, start)
		copied := *st.DeepCopy()
		got, v := circuit.Admit(breaker("", st), "a", s, now, time.Hour)
		if diff := cmp.Diff(copied, st); diff != "" {
			t.Fatalf("Admit changed its argument:\n%s", diff)
		}
		if v.Allowed && got.State == v1alpha1.BreakerOpen {
			t.Fatalf("allowed while open: %+v", got)
		}
		known := st.State == v1alpha1.BreakerClosed || st.State == v1alpha1.BreakerOpen ||
			st.State == v1alpha1.BreakerHalfOpen
		if v.Allowed && !known {
			t.Fatalf("allowed by a status in no known state: %+v", st)
		}
		requireSound(t, got)
		requireSound(t, circuit.Next(st, drawEvent(t), s, now))
		requireSound(t, circuit.Storm(st, drawViolations(t), s, now))
		requireSound(t, circuit.Burn(st, circuit.Answer{Ratio: 1}, objective("99", 0), now))
		if again := circuit.Tick(got, s, now); again.State != got.State {
			t.Fatalf("a second tick at one time goes from %s to %s", got.State, again.State)
		}
	})
}

func TestAnOutcomeCountsOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := drawLimits(t), start
		var st v1alpha1.RemediationBreakerStatus
		for range rapid.IntRange(0, 30).Draw(t, "history") {
			now = drawTime(t, now)
			st = circuit.Next(st, drawEvent(t), s, now)
		}
		e := drawEvent(t)
		e.Key = "the one"
		once := circuit.Next(st, e, s, now)
		if diff := cmp.Diff(once, circuit.Next(once, e, s, now)); diff != "" {
			t.Fatalf("recorded twice (-once +twice):\n%s", diff)
		}
		// So also after other outcomes, as when a plan is gone through again.
		for i := range rapid.IntRange(0, 63).Draw(t, "others") {
			once = circuit.Next(once, circuit.Event{Type: circuit.TargetSucceeded, Key: fmt.Sprintf("other-%d", i)}, s,
				now)
		}
		if diff := cmp.Diff(once, circuit.Next(once, e, s, now)); diff != "" {
			t.Fatalf("recorded again later (-once +twice):\n%s", diff)
		}
	})
}

func TestEachOpeningDoublesTheCooldownUpToADay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cooldown := time.Duration(
			rapid.Int64Range(1, int64(30*time.Hour/time.Second)).Draw(t, "cooldown")) * time.Second
		s := v1alpha1.BreakerStrategy{Cooldown: metav1.Duration{Duration: cooldown}}
		now, want := start, min(cooldown, 24*time.Hour)
		st := circuit.Next(v1alpha1.RemediationBreakerStatus{}, circuit.Event{Type: circuit.CanaryFailed}, s, now)
		for opening := range int32(25) {
			if got := st.NextProbeTime.Sub(st.OpenedTime.Time); got != want || st.Openings != opening+1 {
				t.Fatalf("opening %d (counted as %d) lasts %s, want %s", opening+1, st.Openings, got, want)
			}
			now = st.NextProbeTime.Time
			st = circuit.Next(st, circuit.Event{Type: rapid.SampledFrom(events[1:3]).Draw(t, "failure")}, s, now)
			want = min(2*want, 24*time.Hour)
		}
	})
}
