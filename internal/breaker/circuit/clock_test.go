// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// Times that a wrong clock has written ahead are believed for a day at most: a breaker
// that opened a year ahead is half-open once its cooldown has passed by the right clock.
func TestTimesOfAFutureAreBelievedForADayAtMost(t *testing.T) {
	s := v1alpha1.BreakerStrategy{}
	const year = 365 * 24 * time.Hour
	opened := func(ahead time.Duration) v1alpha1.RemediationBreakerStatus {
		st := circuit.Open(v1alpha1.RemediationBreakerStatus{}, v1alpha1.ReasonStorm, "Many.", s, start.Add(ahead))
		return st
	}
	far := opened(0)
	far.NextProbeTime = at(year)
	cases := map[string]struct {
		reason string
		from   v1alpha1.RemediationBreakerStatus
		open   time.Duration // how long it stays open from now on
	}{
		"Opened now": {"30 minutes of cooldown.", opened(0), 30 * time.Minute},
		"Opened two hours ahead": {"The clock went back: the promise stands.", opened(2 * time.Hour),
			2*time.Hour + 30*time.Minute},
		"Opened a year ahead":           {"Nobody waits a year.", opened(year), 30 * time.Minute},
		"Opened now until a year ahead": {"No cooldown is that long.", far, 24 * time.Hour},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			st := circuit.Tick(tc.from, s, start)
			if again := circuit.Tick(st, s, start); !again.NextProbeTime.Equal(st.NextProbeTime) ||
				again.Message != st.Message {
				t.Errorf("looking twice changes it: %+v, then %+v", st, again)
			}
			if before := circuit.Tick(st, s, start.Add(tc.open-time.Second)); before.State != v1alpha1.BreakerOpen {
				t.Errorf("%s\na second before %s it is %s", tc.reason, tc.open, before.State)
			}
			if after := circuit.Tick(st, s, start.Add(tc.open)); after.State != v1alpha1.BreakerHalfOpen {
				t.Errorf("%s\nafter %s it is %s until %s", tc.reason, tc.open, after.State, after.NextProbeTime)
			}
		})
	}
}

func TestWhatElseAWrongClockWroteAhead(t *testing.T) {
	s, year := v1alpha1.BreakerStrategy{}, at(365*24*time.Hour)
	held := halfOpen("a")
	held.Permit.ExpirationTime = *year
	if st := circuit.Tick(held, s, start); st.Permit == nil ||
		st.Permit.ExpirationTime.After(start.Add(61*24*time.Hour)) {
		t.Errorf("a permit lasts until %+v", st.Permit)
	}
	st := circuit.Tick(v1alpha1.RemediationBreakerStatus{
		State: v1alpha1.BreakerClosed, Reason: "Any", RecentOpeningTimes: []metav1.MicroTime{*year, *year}}, s, start)
	if st = circuit.Demotion(st, "r", start.Add(25*time.Hour)); len(st.RecentOpeningTimes) != 0 {
		t.Errorf("openings of a year ahead count a day later: %v", st.RecentOpeningTimes)
	}
}
