package remediate

import (
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// One editor deletes each object in her namespace as soon as it is written: the
// policies that have it in work are stopped, and her namespace, and nothing else.
func TestOneNamespaceOpensNoGlobalBreaker(t *testing.T) {
	c := newCircuit(t).in("eve", "shop")
	for _, policy := range []string{"images", "limits", "labels", "probes"} {
		c.canaryFails(policy, "eve")
		if st := c.stateOf("policy-" + policy); st != v1alpha1.BreakerOpen {
			t.Fatalf("the breaker of %s is %s", policy, st)
		}
		again := newCircuit(t) // as after a restart: all is in the breakers' status
		again.kept, again.namespaces = c.kept, c.namespaces
		again.with(func(o *breakerOptions) { o.Store, o.Cached, o.Metrics = c.kept, c.kept, prometheus.NewRegistry() })
		c = again
		c.reconciled("policy-" + policy)
		c.reconciled("global")
	}
	if st := c.read("global").Status; st.State != v1alpha1.BreakerClosed {
		t.Fatalf("one namespace has opened the global breaker: %s", st.Message)
	}
	if st := c.stateOf("namespace-eve"); st != v1alpha1.BreakerOpen {
		t.Errorf("the namespace's own breaker is %s, want open", st)
	}
	if gate := c.writes(c.plan("a"), "shop"); gate.Closed {
		t.Errorf("another policy is held in another namespace: %+v", gate)
	}
	c.canaryFails("seccomp", "shop")
	if st := c.stateOf("global"); st != v1alpha1.BreakerOpen {
		t.Errorf("a second namespace fails too, and the global breaker is %s", st)
	}
}

// The global breaker is open for the policies' breakers for as long as they are.
func TestTheGlobalBreakerClosesWithThePolicies(t *testing.T) {
	held := func(t *testing.T) *circuit {
		t.Helper()
		c := newCircuit(t)
		for _, policy := range []string{"p0", "tags", "p2"} {
			c.change(policyScope(policy), func(cb *v1alpha1.RemediationBreaker) {
				cb.Status = canary.Open(cb.Status, canary.ReasonStorm, "A storm.", v1alpha1.BreakerStrategy{}, c.time.Now())
			})
		}
		c.reconciled("policy-p0")
		if !canary.HeldByPolicies(&c.read("global").Status) {
			t.Fatal("three open policies' breakers don't open the global one")
		}
		return c
	}
	cases := map[string]func(*circuit){
		"one is closed": func(c *circuit) {
			c.change(policyScope("tags"), func(cb *v1alpha1.RemediationBreaker) { cb.Status = canary.Forgotten(cb) })
			c.reconciled("policy-tags")
		},
		"one is gone": func(c *circuit) {
			c.must(c.kept.Remove(c.ctx, c.read("policy-tags")))
			c.reconciled("policy-tags")
		},
		"they have cooled down, and nobody looked": func(c *circuit) {
			c.after(40 * time.Minute)
			c.reconciled("global")
		},
		"one is gone, and a plan asks": func(c *circuit) {
			c.must(c.kept.Remove(c.ctx, c.read("policy-tags")))
			if gate := c.admitted(c.plan("a")); gate.Closed {
				c.Errorf("the plan is held: %+v", gate)
			}
		},
	}
	for name, happens := range cases {
		t.Run(name, func(t *testing.T) {
			c := held(t)
			happens(c)
			if st := c.read("global").Status; st.State != v1alpha1.BreakerClosed || st.Openings != 0 {
				t.Errorf("the global breaker is %s (%s) with %d openings", st.State, st.Reason, st.Openings)
			}
		})
	}
	c := held(t)
	c.after(time.Minute)
	for _, name := range []string{"policy-p2", "global"} {
		if c.reconciled(name); c.stateOf("global") != v1alpha1.BreakerOpen {
			t.Errorf("it has closed while all three are open")
		}
	}
}

func TestWhereTheTargetsOfAnOutcomeAre(t *testing.T) {
	cases := map[string]struct {
		outcome Outcome
		want    [][]string
	}{
		"one each":                   {Outcome{Count: 2, Namespaces: map[string]int32{"b": 1, "a": 1}}, [][]string{{"a"}, {"b"}}},
		"many in one":                {Outcome{Count: 40, Namespaces: map[string]int32{"a": 39, "b": 1}}, [][]string{{"a"}, {"b"}}},
		"some in cluster scope":      {Outcome{Count: 3, Namespaces: map[string]int32{"a": 1}}, [][]string{{"a"}, nil}},
		"all in cluster scope":       {Outcome{Count: 3}, [][]string{nil}},
		"metrics blame a whole wave": {Outcome{Count: 1, Namespaces: map[string]int32{"a": 1, "b": 1}}, [][]string{{"a", "b"}}},
	}
	for name, tc := range cases {
		if got := tc.outcome.places(); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: want %v, got %v", name, tc.want, got)
		}
	}
}
