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

func breaker(mode v1alpha1.BreakerMode, st v1alpha1.RemediationBreakerStatus) *v1alpha1.RemediationBreaker {
	return &v1alpha1.RemediationBreaker{
		ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"},
		Spec:       v1alpha1.RemediationBreakerSpec{Mode: mode},
		Status:     st,
	}
}

func heldUntil(end time.Time) *v1alpha1.RemediationBreaker {
	cb := breaker(v1alpha1.BreakerForcedOpen, v1alpha1.RemediationBreakerStatus{})
	cb.Spec.ForcedOpenUntilTime = &metav1.Time{Time: end}
	return cb
}

func TestAdmit(t *testing.T) {
	closed, open, halfway := v1alpha1.BreakerClosed, v1alpha1.BreakerOpen, v1alpha1.BreakerHalfOpen
	opened := outcomes(v1alpha1.RemediationBreakerStatus{}, v1alpha1.BreakerStrategy{}, "C")
	with := func(st v1alpha1.RemediationBreakerStatus,
		change func(*v1alpha1.RemediationBreakerStatus)) v1alpha1.RemediationBreakerStatus {
		c := *st.DeepCopy()
		change(&c)
		return c
	}
	cases := map[string]struct {
		cb      *v1alpha1.RemediationBreaker
		plan    string
		after   time.Duration
		allowed bool
		reason  string
		says    string
		state   v1alpha1.BreakerState
		holder  string
	}{
		"A new breaker lets writes through": {
			cb: breaker("", v1alpha1.RemediationBreakerStatus{}), plan: "a",
			allowed: true, reason: v1alpha1.ReasonWithinLimits, says: "writes go through", state: closed,
		},
		"An empty list is as good as none": {
			cb: breaker("", v1alpha1.RemediationBreakerStatus{
				Recorded: []string{}, Buckets: []v1alpha1.BreakerBucket{}, Conditions: []metav1.Condition{}}),
			plan: "a", allowed: true, reason: v1alpha1.ReasonWithinLimits, state: closed,
		},
		"A breaker that can't be read is open": {
			cb: nil, plan: "a", reason: v1alpha1.ReasonBreakerUnreadable, says: "kubectl get remediationbreakers",
			state: open,
		},
		"A breaker forced open lets nothing through, whatever its state": {
			cb: breaker(v1alpha1.BreakerForcedOpen, v1alpha1.RemediationBreakerStatus{}), plan: "a",
			reason: v1alpha1.ReasonForcedOpen,
			says:   `evenkeel breaker close policy-tags --reason "..."`, state: closed,
		},
		"A forced breaker says until when": {
			cb: heldUntil(start.Add(time.Hour)), plan: "a", after: time.Hour - 1, reason: v1alpha1.ReasonForcedOpen,
			says: "no new write until 2026-03-01T13:00:00Z, or until somebody releases it", state: closed,
		},
		"A forced breaker's end comes by itself": {
			cb: heldUntil(start.Add(time.Hour)), plan: "a", after: time.Hour, allowed: true, state: closed,
			reason: v1alpha1.ReasonWithinLimits,
		},
		"An unknown mode is the kill switch too": {
			cb: breaker("Closed", v1alpha1.RemediationBreakerStatus{}), plan: "a", reason: v1alpha1.ReasonForcedOpen,
			state: closed,
		},
		"A forced breaker gives no permit": {
			cb: breaker(v1alpha1.BreakerForcedOpen, halfOpen("")), plan: "a", reason: v1alpha1.ReasonForcedOpen,
			state: halfway,
		},
		"An open breaker says until when": {
			cb: breaker("", opened), plan: "a", after: time.Minute, reason: v1alpha1.ReasonCanaryFailed,
			says: "wait until 2026-03-01T12:30:00Z, or, once the cause is dealt with, start it afresh: evenkeel " +
				"breaker reset policy-tags", state: open,
		},
		"An open breaker whose time has come gives its permit": {
			cb: breaker("", opened), plan: "a", after: 30 * time.Minute,
			allowed: true, reason: v1alpha1.ReasonPermitGranted, says: "Remediation a is let through as a probe",
			state: halfway, holder: "a",
		},
		"The holder of the permit may go on": {
			cb: breaker("", halfOpen("a")), plan: "a", allowed: true, reason: v1alpha1.ReasonPermitGranted,
			state: halfway, holder: "a",
		},
		"Another plan waits for the holder": {
			cb: breaker("", halfOpen("a")), plan: "b", reason: v1alpha1.ReasonPermitHeld,
			says: "lets Remediation a through until 2026-03-01T13:00:00Z", state: halfway, holder: "a",
		},
		"A plan without a name gets no permit": {
			cb: breaker("", halfOpen("")), reason: v1alpha1.ReasonNoRemediation, says: "name one", state: halfway,
		},
		"A lapsed permit is free: its holder may take it anew": {
			cb: breaker("", halfOpen("a")), plan: "a", after: time.Hour, allowed: true,
			reason: v1alpha1.ReasonPermitGranted, state: halfway, holder: "a",
		},
		"A lapsed permit is free: another plan may take it": {
			cb: breaker("", halfOpen("a")), plan: "b", after: time.Hour, allowed: true,
			reason: v1alpha1.ReasonPermitGranted, state: halfway, holder: "b",
		},
		"An unknown state is open": {
			cb:     breaker("", v1alpha1.RemediationBreakerStatus{State: "Ajar"}),
			reason: v1alpha1.ReasonInconsistentState, says: "InconsistentState", state: open,
		},
		"No state, but other fields, is open": {
			cb: breaker("", v1alpha1.RemediationBreakerStatus{Openings: 2}), reason: v1alpha1.ReasonInconsistentState,
			state: open,
		},
		"Open without openedTime stays open past its time": {
			cb:    breaker("", with(opened, func(st *v1alpha1.RemediationBreakerStatus) { st.OpenedTime = nil })),
			after: 40 * time.Minute, reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"Open without nextProbeTime stays open": {
			cb:    breaker("", with(opened, func(st *v1alpha1.RemediationBreakerStatus) { st.NextProbeTime = nil })),
			after: 40 * time.Minute, reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"Open until before it opened stays open": {
			cb: breaker("", with(opened, func(st *v1alpha1.RemediationBreakerStatus) {
				st.NextProbeTime = at(-time.Hour)
			})),
			after: 40 * time.Minute, reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"Half-open without an opening is open": {
			cb: breaker("", v1alpha1.RemediationBreakerStatus{State: halfway}), plan: "a",
			reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"Open without an opening counted stays open": {
			cb:    breaker("", with(opened, func(st *v1alpha1.RemediationBreakerStatus) { st.Openings = 0 })),
			after: 40 * time.Minute, reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"A permit for nobody is open": {
			cb: breaker("", with(halfOpen("a"), func(st *v1alpha1.RemediationBreakerStatus) {
				st.Permit.Remediation = ""
			})), plan: "a",
			reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"An open breaker with a permit drops it": {
			cb: breaker("", with(opened, func(st *v1alpha1.RemediationBreakerStatus) {
				st.Permit = halfOpen("a").Permit
			})), plan: "a",
			reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"A closed breaker with a permit is open": {
			cb: breaker("", v1alpha1.RemediationBreakerStatus{State: closed, Permit: halfOpen("a").Permit}), plan: "a",
			reason: v1alpha1.ReasonInconsistentState, state: open,
		},
		"Negative counters are open": {
			cb: breaker("", v1alpha1.RemediationBreakerStatus{
				State: closed, Openings: -1, Buckets: []v1alpha1.BreakerBucket{{StartTime: *at(0), Failures: -4}},
			}), plan: "a", reason: v1alpha1.ReasonInconsistentState, state: open,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			st, v := circuit.Admit(tc.cb, tc.plan, v1alpha1.BreakerStrategy{}, start.Add(tc.after), time.Hour)
			if v.Allowed != tc.allowed || v.Reason != tc.reason || !strings.Contains(v.Message, tc.says) {
				t.Errorf("verdict = %+v, want allowed %v, reason %s, message with %q", v, tc.allowed, tc.reason,
					tc.says)
			}
			holder := ""
			if st.Permit != nil {
				holder = st.Permit.Remediation
			}
			if st.State != tc.state || holder != tc.holder {
				t.Errorf("status: state %s, permit of %q; want %s and %q", st.State, holder, tc.state, tc.holder)
			}
			if !v.Allowed && v.Message == "" {
				t.Error("a refusal must say why")
			}
		})
	}
}

func TestAPermitEndsInTime(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		time.Minute: time.Minute, 0: circuit.DefaultPermit, -time.Minute: circuit.DefaultPermit,
	} {
		st, _ := circuit.Admit(breaker("", halfOpen("")), "a", v1alpha1.BreakerStrategy{}, start, given)
		if got := st.Permit.ExpirationTime.Sub(start); got != want {
			t.Errorf("a permit for %s lasts %s, want %s", given, got, want)
		}
	}
}

func TestReleaseGivesBackOnesOwnPermit(t *testing.T) {
	st := circuit.Release(halfOpen("a"), "b")
	if diff := cmp.Diff(halfOpen("a"), st); diff != "" {
		t.Errorf("a plan gave back another's permit (-want +got):\n%s", diff)
	}
	st = circuit.Release(st, "a")
	st, v := circuit.Admit(breaker("", st), "b", v1alpha1.BreakerStrategy{}, start, time.Hour)
	if !v.Allowed || st.Permit.Remediation != "b" || st.Openings != 1 {
		t.Errorf("after the release plan b gets %+v, permit %+v, openings %d; want the permit and one opening", v,
			st.Permit, st.Openings)
	}
}
