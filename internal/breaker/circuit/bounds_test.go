// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

func TestOutlived(t *testing.T) {
	const week = 7 * 24 * time.Hour
	for name, tc := range map[string]struct {
		reason       string
		made, opened time.Duration // ago; 0: it never opened
		want         bool
	}{
		"made a week ago":                      {reason: "it is enough", made: week, want: true},
		"made not quite a week ago":            {reason: "it isn't", made: week - 1},
		"opened since":                         {reason: "the opening counts", made: 2 * week, opened: week - 1},
		"opened since, a week ago":             {reason: "it is enough", made: 2 * week, opened: week, want: true},
		"opened before, under another's clock": {reason: "the later time counts", made: week - 1, opened: 2 * week},
	} {
		cb := &v1alpha1.RemediationBreaker{}
		cb.CreationTimestamp = metav1.NewTime(start.Add(-tc.made))
		if tc.opened > 0 {
			cb.Status.OpenedTime = at(-tc.opened)
		}
		if got := circuit.Outlived(cb, start); got != tc.want {
			t.Errorf("%s: %s: got %t, want %t", name, tc.reason, got, tc.want)
		}
	}
}

func TestAtRest(t *testing.T) {
	for name, tc := range map[string]struct {
		mode v1alpha1.BreakerMode
		st   v1alpha1.RemediationBreakerStatus
		want bool
		// until is when the hold ends, from now on; zero for one without an end.
		until time.Duration
	}{
		"held until an end to come": {mode: v1alpha1.BreakerForcedOpen, until: 1},
		"held until an end to come, and taken for closed": {mode: v1alpha1.BreakerForcedOpen, until: 1,
			st: v1alpha1.RemediationBreakerStatus{Mode: v1alpha1.BreakerAutomatic, ObservedGeneration: 2}},
		"held until an end that nobody has seen yet": {mode: v1alpha1.BreakerForcedOpen, until: -1,
			st: v1alpha1.RemediationBreakerStatus{Mode: v1alpha1.BreakerForcedOpen, ObservedGeneration: 2}},
		"held anew until an end that nobody has seen yet": {mode: v1alpha1.BreakerForcedOpen, until: -1,
			st: v1alpha1.RemediationBreakerStatus{Mode: v1alpha1.BreakerAutomatic, ObservedGeneration: 1}},
		"held until an end that has come": {mode: v1alpha1.BreakerForcedOpen, until: -1, want: true,
			st: v1alpha1.RemediationBreakerStatus{Mode: v1alpha1.BreakerAutomatic, ObservedGeneration: 2}},
		"held until an end that has come, and open": {mode: v1alpha1.BreakerForcedOpen, until: -1,
			st: v1alpha1.RemediationBreakerStatus{Mode: v1alpha1.BreakerAutomatic, ObservedGeneration: 2,
				State: v1alpha1.BreakerOpen}},
		"new":                   {want: true},
		"closed":                {st: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed}, want: true},
		"open":                  {st: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerOpen}},
		"half-open":             {st: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerHalfOpen}},
		"held open by a person": {mode: v1alpha1.BreakerForcedOpen},
		"its policy is demoted": {st: v1alpha1.RemediationBreakerStatus{Demoted: &v1alpha1.BreakerDemotion{}}},
		"demoted and closed now": {st: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed,
			Demoted: &v1alpha1.BreakerDemotion{}}},
	} {
		cb := breaker(tc.mode, tc.st)
		cb.Generation = 2
		if tc.until != 0 {
			cb.Spec.ForcedOpenUntilTime = &metav1.Time{Time: start.Add(tc.until)}
		}
		if got := circuit.AtRest(cb, start); got != tc.want {
			t.Errorf("%s: got %t, want %t", name, got, tc.want)
		}
	}
}

// A day after the last outcome, and not a moment before, a breaker has nothing to remember.
func TestIdleAfterADay(t *testing.T) {
	cb := breaker("", v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed, LastOutcomeTime: at(0)})
	for after, want := range map[time.Duration]bool{24*time.Hour - 1: false, 24 * time.Hour: true} {
		if got := circuit.Idle(cb, start.Add(after)); got != want {
			t.Errorf("after %s: got %t, want %t", after, got, want)
		}
	}
}

func TestWhatATargetsFailureSays(t *testing.T) {
	for reason, want := range map[string]struct{ nothing, ofFix bool }{
		v1alpha1.ReasonUnhealthyBefore:    {nothing: true},
		v1alpha1.ReasonHealthUnknown:      {nothing: true},
		v1alpha1.ReasonConflict:           {},
		v1alpha1.ReasonMissingPermissions: {},
		v1alpha1.ReasonStillViolating:     {ofFix: true},
	} {
		if nothing, ofFix := circuit.ProvesNothing(reason), circuit.SpeaksOfFix(reason); nothing != want.nothing ||
			ofFix != want.ofFix {
			t.Errorf("%s: it proves nothing: %t, it speaks of the fix: %t, want %+v", reason, nothing, ofFix, want)
		}
	}
}

// What was silent a day ago says nothing of how long to wait now.
func TestSilenceOfADayAgoIsForgotten(t *testing.T) {
	silent := func(ago time.Duration) v1alpha1.RemediationStatus { return ended(ago, v1alpha1.ReasonNoAnswer, "eve") }
	for ago, want := range map[time.Duration]bool{24 * time.Hour: false, 24*time.Hour - time.Second: true} {
		_, aside := circuit.Stand([]v1alpha1.RemediationStatus{silent(ago),
			silent(90 * time.Second)}, start).Aside["eve"]
		if aside != want {
			t.Errorf("silent %s and 90s ago: left out %t, want %t: one waits for a minute, two for two", ago, aside,
				want)
		}
	}
}

func TestAnObjectiveOfZeroIsRefused(t *testing.T) {
	zero := v1alpha1.SLOStrategy{Objective: "0", Period: metav1.Duration{Duration: time.Hour}}
	if budget, err := zero.ErrorBudget(); err == nil {
		t.Errorf("got a budget of %v, want an error: all requests may fail", budget)
	}
	st := circuit.Burn(v1alpha1.RemediationBreakerStatus{}, circuit.Answer{Ratio: 0.123456},
		objective("99", 1000*time.Hour), start)
	if st.SLO.Ratio != "0.123456" || st.SLO.Spent != "0.0123456" {
		t.Errorf("recorded are %s and %s, want every digit", st.SLO.Ratio, st.SLO.Spent)
	}
}

// An opening that was taken back says so.
func TestAnOpeningOfAFutureSaysThatTheClockWentBack(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	st := circuit.Open(v1alpha1.RemediationBreakerStatus{}, v1alpha1.ReasonStorm, "Many.", s, start.AddDate(1, 0, 0))
	if st = circuit.Tick(st, s, start); st.Reason != v1alpha1.ReasonClockWentBack {
		t.Errorf("it is open because of %s, want %s", st.Reason, v1alpha1.ReasonClockWentBack)
	}
}

// A status that has anything in it isn't new; one with empty lists is.
func TestOnlyAnEmptyStatusIsNew(t *testing.T) {
	for name, tc := range map[string]struct {
		st   v1alpha1.RemediationBreakerStatus
		want v1alpha1.BreakerState
	}{
		"nothing": {v1alpha1.RemediationBreakerStatus{}, v1alpha1.BreakerClosed},
		"empty lists": {v1alpha1.RemediationBreakerStatus{ObservedGeneration: v1alpha1.NotObserved,
			Buckets:         []v1alpha1.BreakerBucket{},
			FailingPolicies: []v1alpha1.FailingPolicy{}, Conditions: []metav1.Condition{}}, v1alpha1.BreakerClosed},
		"a bucket": {v1alpha1.RemediationBreakerStatus{Buckets: []v1alpha1.BreakerBucket{{}}},
			v1alpha1.BreakerOpen},
		"an outcome": {v1alpha1.RemediationBreakerStatus{Recorded: []string{"k"}}, v1alpha1.BreakerOpen},
		"a failing policy": {v1alpha1.RemediationBreakerStatus{FailingPolicies: []v1alpha1.FailingPolicy{{}}},
			v1alpha1.BreakerOpen},
		"a failing namespace": {v1alpha1.RemediationBreakerStatus{FailingNamespaces: []v1alpha1.FailingNamespace{{}}},
			v1alpha1.BreakerOpen},
		"an opening": {v1alpha1.RemediationBreakerStatus{RecentOpeningTimes: []metav1.MicroTime{*at(0)}},
			v1alpha1.BreakerOpen},
		"a condition": {v1alpha1.RemediationBreakerStatus{Conditions: []metav1.Condition{{Type: "Ready"}}},
			v1alpha1.BreakerOpen},
		"a generation": {v1alpha1.RemediationBreakerStatus{ObservedGeneration: 2}, v1alpha1.BreakerOpen},
	} {
		if got := circuit.Tick(tc.st, v1alpha1.BreakerStrategy{}, start); got.State != tc.want {
			t.Errorf("%s: it is %s (%s), want %s", name, got.State, got.Message, tc.want)
		}
	}
}

// A probe of the global breaker that fails in one namespace keeps its permit until its plan has ended.
func TestAProbeKeepsItsPermitUntilItsPlanEnds(t *testing.T) {
	opened := global(t, "ax-", "by-", "ax-")
	now := opened.NextProbeTime.Time
	st, _ := circuit.Admit(breaker("", opened), "a", v1alpha1.BreakerStrategy{}, now, time.Hour)
	fail := func(kind circuit.EventType) {
		e := circuit.Event{Type: kind, Key: string(kind), Remediation: "a", Policy: "a", Namespaces: []string{"eve"}}
		st = circuit.Next(st, e.ForGlobal(), v1alpha1.BreakerStrategy{}, now)
	}
	if fail(circuit.CanaryFailed); st.Permit == nil {
		t.Error("its permit is gone, though its plan is at work")
	}
	if fail(circuit.PlanFailed); st.Permit != nil {
		t.Errorf("its permit is still %+v, though its plan has ended", st.Permit)
	}
}

func TestWhatAStormIsMeasuredFrom(t *testing.T) {
	const m = time.Minute
	s := v1alpha1.BreakerStrategy{}
	storm := func(scans ...func(*v1alpha1.RemediationBreakerStatus)) v1alpha1.RemediationBreakerStatus {
		var st v1alpha1.RemediationBreakerStatus
		for _, scan := range scans {
			scan(&st)
		}
		return st
	}
	scan := func(after time.Duration, in map[string]int32) func(*v1alpha1.RemediationBreakerStatus) {
		return func(st *v1alpha1.RemediationBreakerStatus) {
			*st = circuit.Storm(*st, violating(in), s, start.Add(after))
		}
	}
	type in = map[string]int32
	moved := storm(scan(0, in{"a": 10}), scan(m, in{"b": 10}))
	want := []v1alpha1.BreakerStormBucket{{StartTime: metav1.NewMicroTime(start), Least: 10,
		Namespaces: []v1alpha1.ViolatingNamespace{{Namespace: "b", Violating: 10}}}}
	if diff := cmp.Diff(want, moved.Storm.Buckets); diff != "" {
		t.Errorf("as many elsewhere: what is known is where they are now (-want +got)\n%s", diff)
	}
	got := storm(scan(0, in{"a": 60}), scan(6*m, in{"b": 60}), scan(12*m, in{"a": 50, "b": 110}))
	if got.State != v1alpha1.BreakerOpen || got.OnlyNamespace != "" {
		t.Errorf("of equal counts a rise is measured from the latest, and so half of it is elsewhere: %s for %q, "+
			"want Open for all",
			got.State, got.OnlyNamespace)
	}
	if got := storm(scan(0, in{"x": 100}), scan(m, in{"a": 100, "b": 100})); got.OnlyNamespace != "a" {
		t.Errorf("of two that rose alike the first is kept back: got %q, want a", got.OnlyNamespace)
	}
	var long []func(*v1alpha1.RemediationBreakerStatus)
	for i := range 9 {
		long = append(long, scan(time.Duration(i)*5*m, in{"a": 10}))
	}
	if got := len(storm(long...).Storm.Buckets); got != v1alpha1.MaxBreakerBuckets {
		t.Errorf("%d buckets are kept, want %d", got, v1alpha1.MaxBreakerBuckets)
	}
}

// A clock that goes back leaves outcomes where they were, as far as one window ahead.
func TestOutcomesOfANearFutureStayWhereTheyAre(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	counted := func(ahead time.Duration) time.Time {
		st := circuit.Next(v1alpha1.RemediationBreakerStatus{}, circuit.Event{Type: circuit.TargetFailed, Key: "k"}, s,
			start.Add(ahead))
		return circuit.Tick(st, s, start).Buckets[0].StartTime.Time
	}
	for ahead, want := range map[time.Duration]time.Duration{10 * time.Minute: 10 * time.Minute,
		2 * time.Hour: 30 * time.Minute} {
		if got := counted(ahead); !got.Equal(start.Add(want)) {
			t.Errorf("counted %s ahead, it stands at %s, want %s", ahead, got, start.Add(want))
		}
	}
}

func TestBucketsOfOneStartAreJoined(t *testing.T) {
	one := v1alpha1.BreakerBucket{StartTime: metav1.NewMicroTime(start), Failures: 1}
	st := circuit.Tick(v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed,
		Buckets: []v1alpha1.BreakerBucket{one, one}},
		v1alpha1.BreakerStrategy{}, start)
	if len(st.Buckets) != 1 || st.Failures != 2 {
		t.Errorf("got %+v with %d failures, want one bucket with both", st.Buckets, st.Failures)
	}
}

func TestALongKeyIsRememberedByItsDigest(t *testing.T) {
	for length, digest := range map[int]bool{128: false, 129: true} {
		key := strings.Repeat("k", length)
		st := circuit.Next(v1alpha1.RemediationBreakerStatus{}, circuit.Event{Type: circuit.TargetSucceeded, Key: key},
			v1alpha1.BreakerStrategy{}, start)
		if got := st.Recorded[0]; (got != key) != digest || len(got) > 128 {
			t.Errorf("a key of %d characters is remembered as %s", length, got)
		}
	}
}

// Limits that the schema refuses are the defaults, and the strictest.
func TestNegativeLimits(t *testing.T) {
	minus := metav1.Duration{Duration: -time.Hour}
	st := circuit.Next(v1alpha1.RemediationBreakerStatus{}, circuit.Event{Type: circuit.TargetFailed, Key: "k"},
		v1alpha1.BreakerStrategy{ConsecutiveFailures: -1, Window: minus, Cooldown: minus}, start)
	if st.State != v1alpha1.BreakerOpen || !st.NextProbeTime.Time.Equal(start.Add(v1alpha1.DefaultBreakerCooldown)) {
		t.Errorf("one failure makes it %s until %v, want Open for %s", st.State, st.NextProbeTime,
			v1alpha1.DefaultBreakerCooldown)
	}
}

// A permit that a wrong clock has written ahead lasts for 60 days at most.
func TestTheLongestPermit(t *testing.T) {
	st := halfOpen("a")
	st.Permit.ExpirationTime = *at(365 * 24 * time.Hour)
	if st = circuit.Tick(st, v1alpha1.BreakerStrategy{},
		start); !st.Permit.ExpirationTime.Time.Equal(start.Add(60 * 24 * time.Hour)) {
		t.Errorf("it lasts until %s, want 60 days", st.Permit.ExpirationTime)
	}
}

func TestHowFarAStormLooksBack(t *testing.T) {
	const m = time.Minute
	st := weather(v1alpha1.RemediationBreakerStatus{}, count{0, 10, ""}, count{m, 60, ""}, count{10 * m, 60, ""},
		count{20 * m, 60, ""}, count{30 * m, 110, ""})
	if st.State != v1alpha1.BreakerClosed {
		t.Errorf("what stood before the window counts: %s", st.Message)
	}
	st = v1alpha1.RemediationBreakerStatus{}
	for i := range 6 {
		st = weather(st, count{time.Duration(i) * 5 * m, 10, ""})
	}
	long := v1alpha1.BreakerStrategy{Window: metav1.Duration{Duration: time.Hour}}
	st = circuit.Storm(st, circuit.Violations{Revision: "r1", Objects: 10}, long, start.Add(35*m))
	if got := len(st.Storm.Buckets); got != v1alpha1.MaxBreakerBuckets {
		t.Errorf("after the window grew %d buckets are kept, want %d", got, v1alpha1.MaxBreakerBuckets)
	}
}

func TestTheShortestPeriodOfAnObjective(t *testing.T) {
	for period, want := range map[time.Duration]bool{time.Hour: true, time.Hour - 1: false} {
		_, err := v1alpha1.SLOStrategy{Objective: "99", Period: metav1.Duration{Duration: period}}.ErrorBudget()
		if (err == nil) != want {
			t.Errorf("%s: got %v, want right: %t", period, err, want)
		}
	}
}
