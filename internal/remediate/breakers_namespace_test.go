package remediate

import (
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// observation is a plan at its canary with one target in each namespace, in waves
// as they are given.
func observation(rem *v1alpha1.Remediation, waves map[string]int32) *Observation {
	o := &Observation{Spec: rem.Spec}
	for _, in := range []string{"shop", "bank", ""} {
		if wave, ok := waves[in]; ok {
			o.Targets = append(o.Targets, TargetView{State: v1alpha1.TargetPending, Wave: wave,
				Object: v1alpha1.ObjectReference{Kind: "ConfigMap", Namespace: in, Name: "c"}})
		}
	}
	return o
}

// barredIn are the namespaces whose target is kept back.
func (c *circuit) barredIn(rem *v1alpha1.Remediation, waves map[string]int32) []string {
	c.Helper()
	o := observation(rem, waves)
	c.must(c.bar(c.ctx, rem, o))
	var in []string
	for _, t := range o.Targets {
		if t.Barred != "" {
			in = append(in, t.Object.Namespace)
		}
	}
	return in
}

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

// writes asks the breakers as right before a write in namespaces.
func (c *circuit) writes(rem *v1alpha1.Remediation, in ...string) Gate {
	c.Helper()
	namespaces := map[string]bool{}
	for _, namespace := range in {
		namespaces[namespace] = true
	}
	gate, err := c.admit(c.ctx, rem, namespaces)
	c.must(err)
	return gate
}

// half makes a breaker of the namespace shop that has just cooled down.
func half() *v1alpha1.RemediationBreaker {
	opened, next := metav1.NewMicroTime(noon.Add(-time.Hour)), metav1.NewMicroTime(noon.Add(-time.Minute))
	return &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "namespace-shop"},
		Spec: v1alpha1.RemediationBreakerSpec{Scope: namespaceScope("shop")},
		Status: v1alpha1.RemediationBreakerStatus{State: v1alpha1.BreakerHalfOpen, Reason: canary.ReasonProbing, Message: "Half-open.",
			OpenedAt: &opened, NextProbeAt: &next, Openings: 1}}
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
