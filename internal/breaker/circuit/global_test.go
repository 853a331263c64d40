// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"fmt"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// global is what the global breaker becomes of a story: "ax-" is a failure of policy a
// in namespace x, "ax+" a success, "a_-" a failure of an object of cluster scope, "~"
// ten minutes.
func global(t *testing.T, story ...string) v1alpha1.RemediationBreakerStatus {
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
		e := circuit.Event{Type: types[word[2]], Key: fmt.Sprint(i), Remediation: "plan", Policy: word[:1]}
		if word[1] != '_' {
			e.Namespaces = []string{word[1:2]}
		}
		st = circuit.Next(st, e.ForGlobal(), s, now)
	}
	return st
}

// Whoever edits one namespace can make any policy fail there: that must not stop
// remediation in all others.
func TestTheGlobalBreakerNeedsMoreThanOneNamespace(t *testing.T) {
	cases := map[string]struct {
		reason string
		story  []string
		want   v1alpha1.BreakerState
	}{
		"a row of three policies in one namespace": {
			"its editor deletes what is written", []string{"ax!", "bx!", "cx!", "ax!", "bx-"}, v1alpha1.BreakerClosed},
		"a ratio of three policies in one namespace": {
			"its editor deletes what is written", []string{"ax-", "dy+", "bx-", "dy+", "cx-", "dy+"},
			v1alpha1.BreakerClosed},
		"a row of two policies in two namespaces": {"the fault lies elsewhere", []string{"ax-", "ax-", "by-"},
			v1alpha1.BreakerOpen},
		"a ratio of two policies in two namespaces": {
			"the fault lies elsewhere", []string{"ax-", "c_+", "by-", "cx+", "cy+"}, v1alpha1.BreakerOpen},
		"a row of one policy in two namespaces": {
			"its own breaker is for that", []string{"ax-", "ay-", "ax-", "ay-"}, v1alpha1.BreakerClosed},
		"a row in cluster scope": {"it counts as one namespace", []string{"a_-", "b_-", "c_-"},
			v1alpha1.BreakerClosed},
		"a row in cluster scope and a namespace": {"these are two", []string{"a_-", "b_-", "cx-"},
			v1alpha1.BreakerOpen},
		"the other namespace's row has ended": {
			"a success came in between, an hour ago",
			[]string{"ay-", "cz+", "~", "~", "~", "~", "~", "~", "ax-", "bx-", "cx-", "ax-"}, v1alpha1.BreakerClosed},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if st := global(t, tc.story...); st.State != tc.want {
				t.Errorf("%s: %s (%s), want %s", tc.reason, st.State, st.Message, tc.want)
			}
		})
	}
}

func TestFailingNamespacesAreBounded(t *testing.T) {
	var story []string
	for i := range 20 {
		story = append(story, "a"+string(rune('a'+i))+"-")
	}
	if st := global(t, story...); len(st.FailingNamespaces) != 8 || st.FailingNamespaces[7].Namespace != "t" {
		t.Errorf("kept: %+v", st.FailingNamespaces)
	}
	if st := global(t, "ax-", "cx+", "~", "~", "~", "cx+"); len(st.FailingNamespaces) != 0 {
		t.Errorf("kept for ever: %+v", st.FailingNamespaces)
	}
	if st := told(t, true, "a-"); st.FailingNamespaces != nil {
		t.Errorf("a namespace's own breaker keeps %+v", st.FailingNamespaces)
	}
	st := told(t, false, "a!")
	for range 4 {
		st = circuit.Tick(st, v1alpha1.BreakerStrategy{}, start.Add(time.Hour))
	}
	if len(st.FailingNamespaces) != 1 {
		t.Errorf("a breaker that isn't closed has forgotten where it was opened: %+v", st.FailingNamespaces)
	}
}

func TestTripGlobal(t *testing.T) {
	in := func(reason string, namespaces ...string) v1alpha1.RemediationBreakerStatus {
		st := v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerOpen, Reason: reason}
		for _, namespace := range namespaces {
			st.FailingNamespaces = append(st.FailingNamespaces, v1alpha1.FailingNamespace{Namespace: namespace})
		}
		return st
	}
	type list = []v1alpha1.RemediationBreakerStatus
	x, y, cluster, storm := in(v1alpha1.ReasonCanaryFailed, "x"), in(v1alpha1.ReasonFailurePercent, "y"),
		in(v1alpha1.ReasonProbeFailed, ""), in(v1alpha1.ReasonStorm)
	cases := map[string]struct {
		open list
		want bool
	}{
		"none":                              {nil, false},
		"two":                               {list{x, y}, false},
		"three in two namespaces":           {list{x, x, y}, true},
		"three in one namespace":            {list{x, x, x}, false},
		"nine in one namespace":             {list{x, x, x, x, x, x, x, x, x}, false},
		"one that failed in two of them":    {list{x, x, in(v1alpha1.ReasonCanaryFailed, "x", "y")}, true},
		"three in cluster scope":            {list{cluster, cluster, cluster}, false},
		"cluster scope and a namespace":     {list{cluster, cluster, x}, true},
		"three storms":                      {list{storm, storm, storm}, true},
		"a storm where a target had failed": {list{x, x, in(v1alpha1.ReasonStorm, "x")}, true},
		"three of an earlier version": {
			list{in(v1alpha1.ReasonCanaryFailed), in(v1alpha1.ReasonCanaryFailed), in(v1alpha1.ReasonCanaryFailed)},
			true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := circuit.TripGlobal(tc.open); got != tc.want {
				t.Errorf("want %t, got %t", tc.want, got)
			}
		})
	}
}

func TestReleaseGlobal(t *testing.T) {
	var s v1alpha1.BreakerStrategy
	s.SetDefaults()
	held := func(st v1alpha1.RemediationBreakerStatus) v1alpha1.RemediationBreakerStatus {
		return circuit.Open(st, v1alpha1.ReasonPolicyBreakersOpen, circuit.MessagePolicyBreakersOpen(3), s, start)
	}
	if st := circuit.ReleaseGlobal(held(v1alpha1.RemediationBreakerStatus{}), s,
		start); st.State != v1alpha1.BreakerClosed || st.Openings != 0 || st.NextProbeTime != nil {
		t.Errorf("it stays %s with %d openings", st.State, st.Openings)
	}
	row := held(global(t, "ax-", "by-"))
	for i := range 3 {
		row = circuit.Next(row, circuit.Event{Type: circuit.TargetFailed, Key: fmt.Sprint("while open ", i),
			Policy: "b", Namespaces: []string{"y"}}.ForGlobal(), s, start)
	}
	if st := circuit.ReleaseGlobal(row, s, start); st.State != v1alpha1.BreakerOpen ||
		st.Reason != v1alpha1.ReasonConsecutiveFailures {
		t.Errorf("what failed meanwhile is forgotten: %s (%s)", st.State, st.Reason)
	}
	other := circuit.Open(v1alpha1.RemediationBreakerStatus{}, v1alpha1.ReasonStorm, "Another reason.", s, start)
	if st := circuit.ReleaseGlobal(other, s, start); st.State != v1alpha1.BreakerOpen {
		t.Errorf("it was open for another reason, and is %s", st.State)
	}
}
