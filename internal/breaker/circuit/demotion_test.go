// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/test/recorded"
)

// openedAt is a breaker that has opened at the times after start.
func openedAt(times ...time.Duration) v1alpha1.RemediationBreakerStatus {
	st := v1alpha1.RemediationBreakerStatus{}
	for _, after := range times {
		at := start.Add(after)
		st = circuit.Open(st, "Test", "A test.",
			v1alpha1.BreakerStrategy{Cooldown: metav1.Duration{Duration: time.Millisecond}}, at)
		st = circuit.Demotion(st, "r1", at)
	}
	return st
}

func TestDemotion(t *testing.T) {
	const h = time.Hour
	cases := map[string]struct {
		reason   string
		st       v1alpha1.RemediationBreakerStatus
		after    time.Duration
		revision string
		want     string // the revision that is demoted; "" when none is
	}{
		"Two openings don't demote": {reason: "Three do.", st: openedAt(0, h), after: 2 * h,
			revision: "r1"},
		"Three within 24 hours do": {reason: "Three.", st: openedAt(0, 12*h, 23*h), after: 23 * h,
			revision: "r1", want: "r1"},
		"Three over more than 24 hours don't": {reason: "The first is forgotten.", st: openedAt(0, 12*h, 24*h),
			after: 24 * h, revision: "r1"},
		"A demotion doesn't end by itself": {reason: "A week later.", st: openedAt(0, h, 2*h), after: 170 * h,
			revision: "r1", want: "r1"},
		"A new revision ends it": {
			reason: "The openings spoke of the old one.", st: openedAt(0, h, 2*h), after: 3 * h, revision: "r2"},
		"A revision that isn't known ends nothing": {reason: "Unknown is never a pass.", st: openedAt(0, h, 2*h),
			after: 3 * h, want: "r1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := circuit.Demotion(tc.st, tc.revision, start.Add(tc.after))
			revision := ""
			if got.Demoted != nil {
				revision = got.Demoted.Revision
			}
			if revision != tc.want {
				t.Errorf("%s\ndemoted: %+v, want of revision %q", tc.reason, got.Demoted, tc.want)
			}
			if got.State != tc.st.State {
				t.Errorf("%s\nthe breaker is %s, want still %s: it holds the next plan", tc.reason, got.State,
					tc.st.State)
			}
			if again := circuit.Demotion(got, tc.revision, start.Add(tc.after)); !cmp.Equal(got, again) {
				t.Errorf("doing it again changes it:\n%s", cmp.Diff(got, again))
			}
		})
	}
}

func TestADemotionOfAnUnknownRevisionTakesTheNextOneKnown(t *testing.T) {
	st := openedAt(0, time.Hour)
	st = circuit.Open(circuit.Tick(st, v1alpha1.BreakerStrategy{}, start.Add(2*time.Hour)), "Test", "A test.",
		v1alpha1.BreakerStrategy{}, start.Add(2*time.Hour))
	st = circuit.Demotion(st, "", start.Add(2*time.Hour))
	if st.Demoted == nil || st.Demoted.Revision != "" {
		t.Fatalf("demoted: %+v, want of a revision that isn't known", st.Demoted)
	}
	st = circuit.Demotion(st, "r1", start.Add(3*time.Hour))
	if st.Demoted == nil || st.Demoted.Revision != "r1" {
		t.Fatalf("demoted: %+v, want still, of r1", st.Demoted)
	}
	if st = circuit.Demotion(st, "r2", start.Add(3*time.Hour)); st.Demoted != nil || len(st.RecentOpeningTimes) != 0 {
		t.Errorf("a new revision leaves %+v and %d openings", st.Demoted, len(st.RecentOpeningTimes))
	}
}

func asked(st v1alpha1.RemediationBreakerStatus, token, by string) *v1alpha1.RemediationBreaker {
	cb := breaker("", st)
	cb.Spec.ResetToken = token
	if by != "" {
		recorded.Requests(cb, []v1alpha1.RequestRecord{
			{Action: v1alpha1.ActionReset, Token: token, Reason: "the registry is back.", User: by}}...)
	}
	return cb
}

func TestReset(t *testing.T) {
	opened := openedAt(0, time.Hour, 2*time.Hour)
	opened = circuit.Next(opened, circuit.Event{Type: circuit.TargetFailed, Key: "k"}, v1alpha1.BreakerStrategy{},
		start.Add(2*time.Hour))
	opened.Storm = &v1alpha1.BreakerStorm{Revision: "r1", Violating: 900}
	cb := asked(opened, "1", "alice@example.com")
	st, ok := circuit.Reset(cb, start.Add(3*time.Hour))
	if !ok {
		t.Fatal("a reset that was asked for isn't carried out")
	}
	want := v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerClosed, Reason: v1alpha1.ReasonReset,
		Message:    "Reset by alice@example.com: the registry is back. The count starts afresh.",
		OpenedTime: opened.OpenedTime, LastOutcomeTime: opened.LastOutcomeTime, Recorded: []string{"k"},
		LastHandledResetToken: "1",
		LastReset: &v1alpha1.BreakerResetRecord{By: "alice@example.com", ResetTime: *at(3 * time.Hour),
			Reason: "the registry is back."}}
	if diff := cmp.Diff(want, st); diff != "" {
		t.Errorf("after the reset (-want +got):\n%s", diff)
	}
	if st := circuit.Next(st, circuit.Event{Type: circuit.TargetFailed, Key: "k"}, v1alpha1.BreakerStrategy{},
		start.Add(3*time.Hour)); st.Outcomes != 0 {
		t.Error("an outcome from before the reset counts again after it")
	}
	if v := circuit.SLOGate("policy-tags", &st, objective("99.9", 0), circuit.DefaultSLOInterval,
		start.Add(3*time.Hour)); v.Allowed {
		t.Error("a reset lets writes begin without a new answer of the objective's query")
	}
}

func TestAResetIsCarriedOutOnce(t *testing.T) {
	st, _ := circuit.Reset(asked(openedAt(0), "4", "alice"), start.Add(time.Minute))
	cases := map[string]struct {
		reason string
		cb     *v1alpha1.RemediationBreaker
		want   bool
	}{
		"None is asked for": {reason: "spec.resetToken is empty.", cb: breaker("", st)},
		"The same again":    {reason: "It was carried out.", cb: asked(st, "4", "alice")},
		"None any more":     {reason: "The token was taken away.", cb: asked(st, "", "alice")},
		"Another token":     {reason: "A person asks again.", cb: asked(st, "5", "bob"), want: true},
		"A status of nothing": {reason: "It may have been deleted.",
			cb: asked(v1alpha1.RemediationBreakerStatus{}, "1", "bob"), want: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, ok := circuit.Reset(tc.cb, start.Add(time.Hour))
			if ok != tc.want {
				t.Fatalf("%s\ncarried out: %t, want %t", tc.reason, ok, tc.want)
			}
			if !ok && !cmp.Equal(got, tc.cb.Status) {
				t.Errorf("nothing is to be done, but the status changes:\n%s", cmp.Diff(tc.cb.Status, got))
			}
		})
	}
	if got, _ := circuit.Reset(asked(st, "9", ""), start); !strings.Contains(got.LastReset.By, "unknown") {
		t.Errorf("a reset that admission didn't see was by %q", got.LastReset.By)
	}
}

// Whatever the status was, a reset leaves a sound, closed breaker without a past.
func TestAResetMakesAnyStatusSound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		st := drawStatus(t)
		got, ok := circuit.Reset(asked(st, "another", "alice"), drawTime(t, start))
		if !ok {
			t.Fatal("not carried out")
		}
		requireSound(t, got)
		if got.State != v1alpha1.BreakerClosed || got.Openings != 0 || got.Demoted != nil ||
			len(got.RecentOpeningTimes) != 0 || got.Outcomes != 0 {
			t.Fatalf("a reset leaves %+v", got)
		}
		if next := circuit.Tick(got, drawLimits(t), drawTime(t, start)); next.State != v1alpha1.BreakerClosed {
			t.Fatalf("a breaker that was reset is %s by itself: %s", next.State, next.Message)
		}
	})
}

// Three openings within a day demote, and nothing less does.
func TestOnlyThreeOpeningsInADayDemote(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var st v1alpha1.RemediationBreakerStatus
		var openings []time.Time
		now := start
		s := v1alpha1.BreakerStrategy{Cooldown: metav1.Duration{Duration: time.Minute}}
		for range rapid.IntRange(1, 12).Draw(t, "openings") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Hour)).Draw(t, "step")))
			before := st.Openings
			if st = circuit.Open(st, "Test", "A test.", s, now); st.Openings > before {
				openings = append(openings, now)
			}
			st = circuit.Demotion(st, "r1", now)
			requireSound(t, st)
			n := len(openings)
			want := n >= 3 && openings[n-1].Sub(openings[n-3]) < 24*time.Hour
			if got := st.Demoted != nil; got != want {
				t.Fatalf("openings at %v: demoted %t, want %t", openings, got, want)
			}
			if want {
				return
			}
		}
	})
}

func TestIdleAndDue(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	cases := map[string]struct {
		reason string
		st     v1alpha1.RemediationBreakerStatus
		forced v1alpha1.BreakerMode
		after  time.Duration
		idle   bool
		due    time.Duration
	}{
		"A breaker with an outcome of today is needed": {
			reason: "23 hours.", st: outcomes(v1alpha1.RemediationBreakerStatus{}, s, "f"), after: 23 * time.Hour,
		},
		"One without an outcome for a day isn't": {
			reason: "25 hours.", st: outcomes(v1alpha1.RemediationBreakerStatus{}, s, "f"), after: 25 * time.Hour,
			idle: true,
		},
		"One that a person holds open is": {
			reason: "The kill switch stays.", st: outcomes(v1alpha1.RemediationBreakerStatus{}, s, "f"),
			forced: v1alpha1.BreakerForcedOpen, after: 25 * time.Hour,
		},
		"An open one is, until its time": {
			reason: "It turns half-open in 10 minutes.",
			st:     openedFor(outcomes(v1alpha1.RemediationBreakerStatus{}, s, "C")), after: 20 * time.Minute,
			due: 10 * time.Minute,
		},
		"A permit lapses": {
			reason: "In an hour.", st: halfOpen("a"), due: time.Hour,
		},
		"Outcomes leave the window": {
			reason: "They were counted at start.", st: outcomes(v1alpha1.RemediationBreakerStatus{}, s, "s"),
			after: 10 * time.Minute, due: 20 * time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			now := start.Add(tc.after)
			cb := breaker(tc.forced, circuit.Tick(tc.st, s, now))
			cb.CreationTimestamp = metav1.NewTime(start.Add(-100 * time.Hour))
			if got := circuit.Idle(cb, now); got != tc.idle {
				t.Errorf("%s\nidle = %t, want %t", tc.reason, got, tc.idle)
			}
			if got := circuit.Due(&cb.Status, s, now); got != tc.due {
				t.Errorf("%s\ndue in %s, want %s", tc.reason, got, tc.due)
			}
		})
	}
}

// openedFor drops the window, so that only the opening is due.
func openedFor(st v1alpha1.RemediationBreakerStatus) v1alpha1.RemediationBreakerStatus {
	st.Buckets, st.Failures, st.Outcomes = nil, 0, 0
	return st
}
