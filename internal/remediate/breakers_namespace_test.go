package remediate

import (
	"fmt"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestANamespacesFailuresOpenItsBreakerAlone(t *testing.T) {
	c := newCircuit(t).in("shop", "bank")
	rem := c.plan("a")
	c.must(c.record(c.ctx, rem, []Outcome{{Type: OutcomeSucceeded, Key: "ok", Count: 16, Namespaces: map[string]int32{"shop": 8, "bank": 8}}}))
	if c.read("namespace-shop") != nil || c.read("namespace-bank") != nil {
		t.Fatal("a namespace in which nothing has failed has a breaker")
	}
	other := c.plan("b")
	other.Spec.Plan.Policy.Name = "sizes"
	for i := range 3 {
		// Two policies fail there: one alone would have only its own breaker opened.
		// In between all goes well elsewhere: else the other breakers opened too.
		c.must(c.record(c.ctx, []*v1alpha1.Remediation{rem, other, rem}[i], []Outcome{failed(fmt.Sprintf("f%d", i), "shop")}))
		c.must(c.record(c.ctx, rem, []Outcome{{Type: OutcomeSucceeded, Key: fmt.Sprintf("ok%d", i), Count: 1, Namespaces: map[string]int32{"bank": 1}}}))
	}
	for i := range 2 { // as after a crash
		c.must(c.record(c.ctx, rem, []Outcome{failed(fmt.Sprintf("f%d", i), "shop")}))
	}
	if st := c.read("namespace-shop").Status; st.State != v1alpha1.BreakerOpen || st.Failures != 3 {
		t.Errorf("after three failures in a row the namespace's breaker is %s, with %d failures", st.State, st.Failures)
	}
	if gate := c.admitted(rem); c.read("namespace-bank") != nil || gate.Closed {
		t.Errorf("the failures of one namespace stop more than that namespace: %+v", gate)
	}
	got := c.barredIn(rem, map[string]int32{"shop": 0, "bank": 0, "": 0})
	if fmt.Sprint(got) != "[shop]" {
		t.Errorf("kept back: %v, want the target in shop alone", got)
	}
}

func TestACanarysFailureIsAnOrdinaryOneForItsNamespace(t *testing.T) {
	c := newCircuit(t).in("shop")
	o := Outcome{Type: OutcomeCanaryFailed, Key: "c", Count: 1, Namespaces: map[string]int32{"shop": 1}}
	c.must(c.record(c.ctx, c.plan("a"), []Outcome{o}))
	if st := c.read("namespace-shop").Status; st.State != v1alpha1.BreakerClosed || st.Failures != 1 {
		t.Errorf("the namespace's breaker is %s with %d failures, want closed with 1", st.State, st.Failures)
	}
	if st := c.read("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Errorf("the policy's breaker is %s, want open", st.State)
	}
}

func TestAPermitForANamespaceIsTakenRightBeforeAWriteThere(t *testing.T) {
	c := newCircuit(t, half()).in("shop")
	first, second := c.plan("first"), c.plan("second")
	if got := c.barredIn(first, map[string]int32{"shop": 0, "bank": 0}); got != nil || c.read("namespace-shop").Status.Permit != nil {
		t.Fatalf("a plan that only looks: kept back %v, permit %+v", got, c.read("namespace-shop").Status.Permit)
	}
	if gate := c.writes(first, "bank"); gate.Closed || c.read("namespace-shop").Status.Permit != nil {
		t.Fatalf("a plan that writes elsewhere: gate %+v, permit %+v", gate, c.read("namespace-shop").Status.Permit)
	}
	if gate := c.writes(second, "shop"); gate.Closed || c.read("namespace-shop").Status.Permit.Remediation != "second" {
		t.Fatalf("the plan that writes there: gate %+v, permit %+v", gate, c.read("namespace-shop").Status.Permit)
	}
	if gate := c.writes(first, "bank", "shop"); !gate.Closed {
		t.Fatal("another plan writes there too")
	}
	if got := c.barredIn(first, map[string]int32{"shop": 0, "bank": 0}); fmt.Sprint(got) != "[shop]" {
		t.Fatalf("while another plan has the permit: kept back %v, want shop", got)
	}
	closedGate := observation(first, map[string]int32{"shop": 0})
	closedGate.Gate.Closed = true
	if c.must(c.bar(c.ctx, first, closedGate)); closedGate.Targets[0].Barred != "" {
		t.Error("while nothing begins anywhere, a namespace is asked about")
	}
}

func TestAPermitForANamespaceEndsWithItsPlan(t *testing.T) {
	cases := map[string]struct {
		reason  string
		outcome Outcome
		want    v1alpha1.BreakerState
		proved  int32
	}{
		"A plan that mended targets there has proved something": {
			reason: "One of two.", outcome: Outcome{Type: OutcomePlanSucceeded, Key: "end", Count: 1, Namespaces: map[string]int32{"shop": 1}},
			want: v1alpha1.BreakerHalfOpen, proved: 1,
		},
		"A plan that mended none there gives it back": {
			reason: "Its targets were left to others.", outcome: Outcome{Type: OutcomePlanSucceeded, Key: "end", Count: 1, Namespaces: map[string]int32{"bank": 1}},
			want: v1alpha1.BreakerHalfOpen,
		},
		"A plan that failed elsewhere gives it back": {
			reason: "It says nothing of this namespace.", outcome: Outcome{Type: OutcomePlanFailed, Key: "end", Count: 1, Namespaces: map[string]int32{"bank": 1}},
			want: v1alpha1.BreakerHalfOpen,
		},
		"A plan that failed there opens it again": {
			reason: "The probe failed.", outcome: Outcome{Type: OutcomePlanFailed, Key: "end", Count: 1, Namespaces: map[string]int32{"shop": 1}},
			want: v1alpha1.BreakerOpen,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCircuit(t, half()).in("shop")
			rem := c.plan("a")
			c.writes(rem, "shop")
			c.must(c.record(c.ctx, rem, []Outcome{tc.outcome}))
			c.must(c.record(c.ctx, rem, []Outcome{tc.outcome}))
			st := c.read("namespace-shop").Status
			if st.State != tc.want || st.HalfOpenSuccesses != tc.proved || st.Permit != nil {
				t.Errorf("%s\nthe breaker is %s, %d proved, permit %+v", tc.reason, st.State, st.HalfOpenSuccesses, st.Permit)
			}
		})
	}
	c := newCircuit(t, half()).in("shop")
	c.writes(c.plan("a"), "shop")
	c.must(c.release(c.ctx, c.plan("a")))
	if st := c.read("namespace-shop").Status; st.State != v1alpha1.BreakerHalfOpen || st.Permit != nil {
		t.Errorf("a plan that ended without an outcome leaves %s with permit %+v", st.State, st.Permit)
	}
}
