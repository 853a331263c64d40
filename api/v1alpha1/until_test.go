// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatPeopleAskForEndsByItself(t *testing.T) {
	now := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	in := func(d time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(d)} }
	cases := map[string]struct {
		asked bool
		end   *metav1.Time
		holds bool
		text  string
	}{
		"nothing is asked for": {},
		"an end of nothing":    {end: in(time.Hour), text: " until 2027-01-07T09:00:00Z"},
		"without an end":       {asked: true, holds: true},
		"an end to come": {asked: true, end: in(time.Second), holds: true,
			text: " until 2027-01-07T08:00:01Z"},
		"an end that has just come": {asked: true, end: in(0), text: " until 2027-01-07T08:00:00Z"},
		"an end long ago":           {asked: true, end: &metav1.Time{}, text: " until 0001-01-01T00:00:00Z"},
		"an end to come, of another time zone": {asked: true, holds: true, text: " until 2027-01-07T08:30:00Z",
			end: &metav1.Time{Time: now.Add(time.Hour / 2).In(time.FixedZone("", 3600))}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			plan := RemediationSpec{PausedUntilTime: tc.end}
			breaker := RemediationBreakerSpec{ForcedOpenUntilTime: tc.end}
			if tc.asked {
				plan.DesiredState, breaker.Mode = StatePaused, BreakerForcedOpen
			}
			if plan.Paused(now) != tc.holds || breaker.ForcedOpen(now) != tc.holds || breaker.AsksOpen() != tc.asked {
				t.Errorf("paused %t, held open %t, want %t; asked for %t", plan.Paused(now), breaker.ForcedOpen(now),
					tc.holds, breaker.AsksOpen())
			}
			if got := UntilText(tc.end); got != tc.text {
				t.Errorf("got %q, want %q", got, tc.text)
			}
		})
	}
}

func TestAnEndIsNoneOfAnotherState(t *testing.T) {
	now := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	later := &metav1.Time{Time: now.Add(time.Hour)}
	for _, state := range []DesiredState{"", StateRunning, StateAborted, StateUndone} {
		if plan := (RemediationSpec{DesiredState: state, PausedUntilTime: later}); plan.Paused(now) {
			t.Errorf("%q with an end to come is paused", state)
		}
	}
	if unknown := (RemediationBreakerSpec{Mode: "Shut"}); !unknown.ForcedOpen(now) || !unknown.AsksOpen() {
		t.Error("a mode that isn't known doesn't hold the breaker open")
	}
}

func TestARecordSaysUntilWhen(t *testing.T) {
	r := RequestRecord{Action: ActionPause, User: "ann", Reason: "INC-42"}
	if got := r.What(); got != "Pause" {
		t.Errorf("got %q", got)
	}
	r.UntilTime = &metav1.Time{Time: time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)}
	if got := r.What(); got != "Pause until 2027-01-07T08:00:00Z" {
		t.Errorf("got %q", got)
	}
}
