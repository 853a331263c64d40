// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"fmt"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

func TestANamespacesFailuresOpenItsBreakerAlone(t *testing.T) {
	c := breakertest.New(t).In("shop", "bank")
	rem := c.Plan("a")
	c.Must(c.Record(c.Ctx, rem,
		[]rollout.Outcome{{Type: circuit.TargetSucceeded, Key: "ok", Count: 16,
			Namespaces: map[string]int32{"shop": 8, "bank": 8}}}))
	if c.Read("namespace-shop") != nil || c.Read("namespace-bank") != nil {
		t.Fatal("a namespace in which nothing has failed has a breaker")
	}
	other := c.Plan("b")
	other.Spec.Plan.Policy.Name = "sizes"
	for i := range 3 {
		// Two policies fail there: one alone would have only its own breaker opened.
		// In between all goes well elsewhere: else the other breakers opened too.
		c.Must(c.Record(c.Ctx, []*v1alpha1.Remediation{rem, other, rem}[i],
			[]rollout.Outcome{breakertest.Failed(fmt.Sprintf("f%d", i), "shop")}))
		c.Must(c.Record(c.Ctx, rem,
			[]rollout.Outcome{{Type: circuit.TargetSucceeded, Key: fmt.Sprintf("ok%d", i), Count: 1,
				Namespaces: map[string]int32{"bank": 1}}}))
	}
	for i := range 2 { // as after a crash
		c.Must(c.Record(c.Ctx, rem, []rollout.Outcome{breakertest.Failed(fmt.Sprintf("f%d", i), "shop")}))
	}
	if st := c.Read("namespace-shop").Status; st.State != v1alpha1.BreakerOpen || st.Failures != 3 {
		t.Errorf("after three failures in a row the namespace's breaker is %s, with %d failures", st.State, st.Failures)
	}
	if gate := c.Admitted(rem); c.Read("namespace-bank") != nil || gate.Closed {
		t.Errorf("the failures of one namespace stop more than that namespace: %+v", gate)
	}
	got := c.BarredIn(rem, map[string]int32{"shop": 0, "bank": 0, "": 0})
	if fmt.Sprint(got) != "[shop]" {
		t.Errorf("kept back: %v, want the target in shop alone", got)
	}
}

func TestACanarysFailureIsAnOrdinaryOneForItsNamespace(t *testing.T) {
	c := breakertest.New(t).In("shop")
	o := rollout.Outcome{Type: circuit.CanaryFailed, Key: "c", Count: 1, Namespaces: map[string]int32{"shop": 1}}
	c.Must(c.Record(c.Ctx, c.Plan("a"), []rollout.Outcome{o}))
	if st := c.Read("namespace-shop").Status; st.State != v1alpha1.BreakerClosed || st.Failures != 1 {
		t.Errorf("the namespace's breaker is %s with %d failures, want closed with 1", st.State, st.Failures)
	}
	if st := c.Read("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Errorf("the policy's breaker is %s, want open", st.State)
	}
}

func TestAPermitForANamespaceIsTakenRightBeforeAWriteThere(t *testing.T) {
	c := breakertest.New(t, breakertest.Half()).In("shop")
	first, second := c.Plan("first"), c.Plan("second")
	if got := c.BarredIn(first, map[string]int32{"shop": 0, "bank": 0}); got != nil ||
		c.Read("namespace-shop").Status.Permit != nil {
		t.Fatalf("a plan that only looks: kept back %v, permit %+v", got, c.Read("namespace-shop").Status.Permit)
	}
	if gate := c.Writes(first, "bank"); gate.Closed || c.Read("namespace-shop").Status.Permit != nil {
		t.Fatalf("a plan that writes elsewhere: gate %+v, permit %+v", gate, c.Read("namespace-shop").Status.Permit)
	}
	if gate := c.Writes(second, "shop"); gate.Closed || c.Read("namespace-shop").Status.Permit.Remediation != "second" {
		t.Fatalf("the plan that writes there: gate %+v, permit %+v", gate, c.Read("namespace-shop").Status.Permit)
	}
	if gate := c.Writes(first, "bank", "shop"); !gate.Closed {
		t.Fatal("another plan writes there too")
	}
	if got := c.BarredIn(first, map[string]int32{"shop": 0, "bank": 0}); fmt.Sprint(got) != "[shop]" {
		t.Fatalf("while another plan has the permit: kept back %v, want shop", got)
	}
}

func TestAPermitForANamespaceEndsWithItsPlan(t *testing.T) {
	cases := map[string]struct {
		reason  string
		outcome rollout.Outcome
		want    v1alpha1.BreakerState
		proved  int32
	}{
		"A plan that fixed targets there has proved something": {
			reason: "One of two.", outcome: rollout.Outcome{Type: circuit.PlanSucceeded, Key: "end", Count: 1,
				Namespaces: map[string]int32{"shop": 1}},
			want: v1alpha1.BreakerHalfOpen, proved: 1,
		},
		"A plan that fixed none there gives it back": {
			reason: "Its targets were left to others.",
			outcome: rollout.Outcome{Type: circuit.PlanSucceeded, Key: "end", Count: 1,
				Namespaces: map[string]int32{"bank": 1}},
			want: v1alpha1.BreakerHalfOpen,
		},
		"A plan that failed elsewhere gives it back": {
			reason: "It says nothing of this namespace.",
			outcome: rollout.Outcome{Type: circuit.PlanFailed, Key: "end", Count: 1,
				Namespaces: map[string]int32{"bank": 1}},
			want: v1alpha1.BreakerHalfOpen,
		},
		"A plan that failed there opens it again": {
			reason: "The probe failed.",
			outcome: rollout.Outcome{Type: circuit.PlanFailed, Key: "end", Count: 1,
				Namespaces: map[string]int32{"shop": 1}},
			want: v1alpha1.BreakerOpen,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t, breakertest.Half()).In("shop")
			rem := c.Plan("a")
			c.Writes(rem, "shop")
			c.Must(c.Record(c.Ctx, rem, []rollout.Outcome{tc.outcome}))
			c.Must(c.Record(c.Ctx, rem, []rollout.Outcome{tc.outcome}))
			st := c.Read("namespace-shop").Status
			if st.State != tc.want || st.HalfOpenSuccesses != tc.proved || st.Permit != nil {
				t.Errorf("%s\nthe breaker is %s, %d proved, permit %+v", tc.reason, st.State, st.HalfOpenSuccesses,
					st.Permit)
			}
		})
	}
	c := breakertest.New(t, breakertest.Half()).In("shop")
	c.Writes(c.Plan("a"), "shop")
	c.Must(c.Release(c.Ctx, c.Plan("a")))
	if st := c.Read("namespace-shop").Status; st.State != v1alpha1.BreakerHalfOpen || st.Permit != nil {
		t.Errorf("a plan that ended without an outcome leaves %s with permit %+v", st.State, st.Permit)
	}
}
