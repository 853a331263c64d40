// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// told is what a shared or a policy's own breaker becomes of a story: "a+" is a
// success of policy a, "a-" a failure, "a!" a failed canary, "~" ten minutes.
func told(t *testing.T, shared bool, story ...string) v1alpha1.RemediationBreakerStatus {
	t.Helper()
	var s v1alpha1.BreakerStrategy
	s.SetDefaults()
	st, now := v1alpha1.RemediationBreakerStatus{}, start
	types := map[byte]circuit.EventType{'+': circuit.TargetSucceeded, '-': circuit.TargetFailed,
		'!': circuit.CanaryFailed}
	for i, word := range story {
		if word == "~" {
			now = now.Add(10 * time.Minute)
			continue
		}
		e := circuit.Event{Type: types[word[1]], Key: fmt.Sprint(i), Remediation: "plan", Policy: word[:1]}
		if shared {
			e = e.ForShared()
		}
		st = circuit.Next(st, e, s, now)
	}
	return st
}

// A breaker that policies share opens for the failures of more than one: a bad
// policy has a breaker of its own, and must not stop its neighbours.
func TestASharedBreakerNeedsMoreThanOnePolicy(t *testing.T) {
	cases := map[string]struct {
		reason string
		own    bool
		story  []string
		want   v1alpha1.BreakerState
	}{
		"three in a row of one policy": {
			"a single policy's fault", false, []string{"a-", "a-", "a-", "a-", "a!", "a-"}, v1alpha1.BreakerClosed},
		"three in a row of two": {"the fault may not lie with one policy", false,
			[]string{"a-", "a-", "b-"}, v1alpha1.BreakerOpen},
		"two of one, then two of another": {
			"the row is theirs together", false, []string{"a-", "a-", "b!", "b-"}, v1alpha1.BreakerOpen},
		"a success in between ends the row": {
			"what failed before is another row", false, []string{"a-", "a-", "c+", "b-"}, v1alpha1.BreakerClosed},
		"a ratio of one policy": {"two of five", false, []string{"a-", "c+", "a-", "c+", "c+"},
			v1alpha1.BreakerClosed},
		"a ratio of two policies": {"two of five", false, []string{"a-", "c+", "b-", "c+", "c+"},
			v1alpha1.BreakerOpen},
		"another policy's failure left the window": {
			"an hour ago", false, []string{"b-", "~", "~", "~", "~", "~", "~", "c+", "a-", "c+", "a-", "c+", "c+"},
			v1alpha1.BreakerClosed},
		"a single failure of two policies": {"fewer than the ratio's samples, and no row", false,
			[]string{"a-", "b-"}, v1alpha1.BreakerClosed},
		"a policy's own breaker: three in a row": {"as ever", true, []string{"a-", "a-", "a-"}, v1alpha1.BreakerOpen},
		"a policy's own breaker: one of five": {"as ever", true, []string{"a-", "a+", "a+", "a+", "a+"},
			v1alpha1.BreakerOpen},
		"a policy's own breaker: its canary": {"as ever", true, []string{"a!"}, v1alpha1.BreakerOpen},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if st := told(t, !tc.own, tc.story...); st.State != tc.want {
				t.Errorf("%s: %s (%s), want %s", tc.reason, st.State, st.Message, tc.want)
			}
		})
	}
}

// The list of failing policies is bounded, and forgotten with the row and the window.
func TestFailingPoliciesAreBounded(t *testing.T) {
	var story []string
	for i := range 20 {
		story = append(story, string(rune('a'+i))+"-")
	}
	if st := told(t, true, story...); len(st.FailingPolicies) != 8 || st.FailingPolicies[7].Policy != "t" {
		t.Errorf("kept: %+v", st.FailingPolicies)
	}
	st := told(t, true, "a-", "c+", "~", "~", "~", "c+")
	if len(st.FailingPolicies) != 0 {
		t.Errorf("kept for ever: %+v", st.FailingPolicies)
	}
	if st := told(t, false, "a-"); st.FailingPolicies != nil {
		t.Errorf("a policy's own breaker keeps %+v", st.FailingPolicies)
	}
}

// A probe that never ends, for the plan is held or hangs, proves nothing: however
// often its permit lapses, the breaker stays half-open and the policy isn't demoted.
func TestALapseIsNoOpening(t *testing.T) {
	var s v1alpha1.BreakerStrategy
	s.SetDefaults()
	cb := breaker("", outcomes(v1alpha1.RemediationBreakerStatus{}, s, "C"))
	now := start.Add(31 * time.Minute)
	for range 20 {
		var v circuit.Verdict
		if cb.Status, v = circuit.Admit(cb, "a", s, now, time.Hour); !v.Allowed {
			t.Fatalf("the probe isn't let through at %s: %+v", now, v)
		}
		now = now.Add(time.Hour)
		cb.Status = circuit.Demotion(circuit.Tick(cb.Status, s, now), "r", now)
	}
	if st := cb.Status; st.State != v1alpha1.BreakerHalfOpen || st.Openings != 1 || st.Demoted != nil ||
		len(st.RecentOpeningTimes) > 1 {
		t.Errorf("after 20 lapses: %s, %d openings, demoted %v", st.State, st.Openings, st.Demoted)
	}
}
