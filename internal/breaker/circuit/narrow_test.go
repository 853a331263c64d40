// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// own is what a policy's breaker becomes of a story: "x!" is a canary that failed in
// namespace x, "x-" another failure, "x+" a success, "xR" a plan that was rolled back, "_!"
// a canary of cluster scope, "~" the time until it is half-open.
func own(t *testing.T, story ...string) v1alpha1.RemediationBreakerStatus {
	t.Helper()
	types := map[byte]circuit.EventType{'+': circuit.TargetSucceeded, '-': circuit.TargetFailed,
		'!': circuit.CanaryFailed, 'R': circuit.PlanFailed}
	st, now := v1alpha1.RemediationBreakerStatus{}, start
	for i, word := range story {
		if word == "~" {
			if st = circuit.Tick(st, v1alpha1.BreakerStrategy{}, now); st.NextProbeTime != nil {
				now = st.NextProbeTime.Time
			}
			st = circuit.Tick(st, v1alpha1.BreakerStrategy{}, now)
			continue
		}
		e := circuit.Event{Type: types[word[1]], Key: fmt.Sprint(i), Remediation: "plan", Policy: "tags"}
		if word[0] != '_' {
			e.Namespaces = []string{word[:1]}
		}
		st = circuit.Next(st, e, v1alpha1.BreakerStrategy{}, now)
	}
	return st
}

func TestAPolicysBreakerKeepsBackTheNamespaceThatFailed(t *testing.T) {
	const all, none = "all", "none"
	cases := map[string]struct {
		reason   string
		story    []string
		want     string // none, all, or a namespace
		openings int32
	}{
		"a canary in one namespace": {"its editor deletes what is written", []string{"x!", "xR"}, "x",
			1},
		"a canary in each of two":                   {"the fix is at fault", []string{"x!", "xR", "y!"}, all, 1},
		"a canary with failures in two":             {"the fix is at fault", []string{"x!", "y!"}, all, 1},
		"a canary in cluster scope":                 {"nobody owns that like a namespace", []string{"_!"}, all, 1},
		"a canary in a namespace and cluster scope": {"these are two", []string{"x!", "_!"}, all, 1},
		"a row in one": {"somebody sets everything back", []string{"x-", "x-", "x-"}, "x",
			1},
		"a row in two": {"the fix is at fault", []string{"x-", "y-", "x-"}, all, 1},
		"a row elsewhere while it is open for one": {"the fix is at fault", []string{"x!", "y-", "y-", "y-"}, all, 1},
		"one failure elsewhere":                    {"others fail now and then", []string{"x!", "y+", "y-"}, "x", 1},
		"a ratio in one":                           {"others go well", []string{"x-", "y+", "x-", "y+", "y+"}, "x", 1},
		"a ratio in two": {"the fix is at fault", []string{"x-", "y+", "z-", "y+", "y+"},
			all, 1},
		"a probe there again": {"it opens for that one, for longer", []string{"x!", "~", "x!"},
			"x", 2},
		"a probe in another": {"two namespaces have failed", []string{"x!", "~", "y!"}, all, 1},
		"a probe in one after it was open for all": {"whoever edits that one may have made it fail",
			[]string{"x!", "y!", "~", "z!"}, "z", 2},
		"a probe in two after it was open for all": {"the fix is at fault", []string{"x!", "y!", "~", "z!", "y!"}, all,
			2},
		"one namespace prolongs nothing for others": {"what it has made of the cooldown binds it alone",
			[]string{"x!", "~", "x!", "~", "x!", "~", "x!", "y!"}, all, 1},
		"nothing": {"nothing has happened", nil, none, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			st := own(t, tc.story...)
			got := none
			if st.State == v1alpha1.BreakerOpen {
				got = all
				if st.OnlyNamespace != "" {
					got = st.OnlyNamespace
				}
			}
			if got != tc.want || st.Openings != tc.openings {
				t.Errorf("%s: it keeps back %s at opening %d, want %s at %d (%s)", tc.reason, got, st.Openings, tc.want,
					tc.openings, st.Message)
			}
			if names := strings.Contains(st.Message, "in namespace "+st.OnlyNamespace); st.OnlyNamespace != "" &&
				!names {
				t.Errorf("its message doesn't say which namespace: %s", st.Message)
			}
			asked := start
			if st.OpenedTime != nil {
				asked = st.OpenedTime.Time
			}
			_, v := circuit.Admit(breaker("", st), "plan", v1alpha1.BreakerStrategy{}, asked, time.Hour)
			if v.Only != st.OnlyNamespace {
				t.Errorf("who asks is told of namespace %q, want %q", v.Only, st.OnlyNamespace)
			}
		})
	}
}

// Whatever happens in the objects of one namespace, however often and for however long:
// the breaker of a policy keeps back that namespace alone and never demotes the policy,
// and a global one that is half-open doesn't open again.
func TestOneNamespaceStopsNoOther(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		global := rapid.Bool().Draw(t, "global")
		st, now := v1alpha1.RemediationBreakerStatus{}, start
		if global {
			st = halfOpen("a")
			st.Reason, st.Message = v1alpha1.ReasonProbing, "Half-open."
		}
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			e := drawEvent(t)
			e.Key, e.Policy, e.Namespaces = fmt.Sprint(i), rapid.SampledFrom([]string{"p", "q", "r"}).Draw(t, "policy"),
				[]string{"eve"}
			if (e.Type == circuit.TargetSucceeded || e.Type == circuit.PlanSucceeded) &&
				rapid.Bool().Draw(t, "elsewhere") {
				e.Namespaces = []string{"shop"}
			}
			if global {
				e = e.ForGlobal()
			}
			st = circuit.Demotion(circuit.Next(st, e, v1alpha1.BreakerStrategy{}, now), "r1", now)
			if st.State == v1alpha1.BreakerOpen && (global || st.OnlyNamespace != "eve") || st.Demoted != nil {
				t.Fatalf("event %d, %+v: %s for %q, demoted %v: %s", i, e, st.State, st.OnlyNamespace, st.Demoted,
					st.Message)
			}
			requireSound(t, st)
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Hour)).Draw(t, "later")))
		}
	})
}

func TestAProbeOfTheGlobalBreaker(t *testing.T) {
	cases := map[string]struct {
		reason string
		in     [][]string // where targets fail while it is half-open
		want   v1alpha1.BreakerState
	}{
		"in one namespace": {"its editor can make any fix fail there", [][]string{{"eve"}, {"eve"}, {"eve"}},
			v1alpha1.BreakerHalfOpen},
		"in two":              {"the fault lies elsewhere", [][]string{{"eve"}, {"shop"}}, v1alpha1.BreakerOpen},
		"metrics of two":      {"the fault lies elsewhere", [][]string{{"eve", "shop"}}, v1alpha1.BreakerOpen},
		"in cluster scope":    {"nobody owns that like a namespace", [][]string{nil}, v1alpha1.BreakerOpen},
		"those before it was": {"that is why it opened", [][]string{{"eve"}}, v1alpha1.BreakerHalfOpen},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			opened := global(t, "ax-", "by-", "ax-")
			now := opened.NextProbeTime.Time
			st, _ := circuit.Admit(breaker("", opened), "a", v1alpha1.BreakerStrategy{}, now, time.Hour)
			for i, in := range tc.in {
				failed := circuit.Event{Type: circuit.CanaryFailed, Key: fmt.Sprint("f", i), Remediation: "a",
					Policy: "a", Namespaces: in}
				over := circuit.Event{Type: circuit.PlanFailed, Key: fmt.Sprint("p", i), Remediation: "a", Policy: "a",
					Namespaces: in}
				good := circuit.Event{Type: circuit.TargetSucceeded, Key: fmt.Sprint("s", i), Remediation: "a",
					Policy: "a", Namespaces: []string{"bank"}}
				for _, e := range []circuit.Event{failed, over, good} {
					st = circuit.Next(st, e.ForGlobal(), v1alpha1.BreakerStrategy{}, now)
				}
			}
			if st.State != tc.want || st.Permit != nil {
				t.Errorf("%s: %s with permit %+v, want %s without", tc.reason, st.State, st.Permit, tc.want)
			}
		})
	}
}
