// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"reflect"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// One editor deletes each object in her namespace as soon as it is written: the
// policies that have it in work are stopped, and her namespace, and nothing else.
func TestOneNamespaceOpensNoGlobalBreaker(t *testing.T) {
	c := breakertest.New(t).In("eve", "shop")
	for _, policy := range []string{"images", "limits", "labels", "probes"} {
		c.CanaryFails(policy, "eve")
		if st := c.StateOf("policy-" + policy); st != v1alpha1.BreakerOpen {
			t.Fatalf("the breaker of %s is %s", policy, st)
		}
		again := breakertest.New(t) // as after a restart: all is in the breakers' status
		again.Kept = c.Kept
		again.With(func(o *breaker.Options) {
			o.Reader, o.Client, o.Metrics = c.Kept, c.Kept, prometheus.NewRegistry()
		})
		c = again
		c.Reconciled("policy-" + policy)
		c.Reconciled("global")
	}
	if st := c.Read("global").Status; st.State != v1alpha1.BreakerClosed {
		t.Fatalf("one namespace has opened the global breaker: %s", st.Message)
	}
	if st := c.StateOf("namespace-eve"); st != v1alpha1.BreakerOpen {
		t.Errorf("the namespace's own breaker is %s, want open", st)
	}
	if gate := c.Writes(c.Plan("a"), "shop"); gate.Closed {
		t.Errorf("another policy is held in another namespace: %+v", gate)
	}
	c.CanaryFails("seccomp", "shop")
	if st := c.StateOf("global"); st != v1alpha1.BreakerOpen {
		t.Errorf("a second namespace fails too, and the global breaker is %s", st)
	}
}

// The global breaker is open for the policies' breakers for as long as they are.
func TestTheGlobalBreakerClosesWithThePolicies(t *testing.T) {
	held := func(t *testing.T) *breakertest.Circuit {
		t.Helper()
		c := breakertest.New(t)
		for _, policy := range []string{"p0", "tags", "p2"} {
			c.Change(breaker.PolicyScope(policy), func(cb *v1alpha1.RemediationBreaker) {
				cb.Status = circuit.Open(cb.Status, v1alpha1.ReasonStorm, "A storm.", v1alpha1.BreakerStrategy{},
					c.Time.Now())
			})
		}
		c.Reconciled("policy-p0")
		if !circuit.HeldByPolicies(&c.Read("global").Status) {
			t.Fatal("three open policies' breakers don't open the global one")
		}
		return c
	}
	cases := map[string]func(*breakertest.Circuit){
		"one is closed": func(c *breakertest.Circuit) {
			c.Change(breaker.PolicyScope("tags"), func(cb *v1alpha1.RemediationBreaker) {
				cb.Status = circuit.Forgotten(cb)
			})
			c.Reconciled("policy-tags")
		},
		"one is gone": func(c *breakertest.Circuit) {
			c.Must(c.Kept.Delete(c.Ctx, c.Read("policy-tags")))
			c.Reconciled("policy-tags")
		},
		"they have cooled down, and nobody looked": func(c *breakertest.Circuit) {
			c.After(40 * time.Minute)
			c.Reconciled("global")
		},
		"one is gone, and a plan asks": func(c *breakertest.Circuit) {
			c.Must(c.Kept.Delete(c.Ctx, c.Read("policy-tags")))
			if gate := c.Admitted(c.Plan("a")); gate.Closed {
				c.Errorf("the plan is held: %+v", gate)
			}
		},
	}
	for name, happens := range cases {
		t.Run(name, func(t *testing.T) {
			c := held(t)
			happens(c)
			if st := c.Read("global").Status; st.State != v1alpha1.BreakerClosed || st.Openings != 0 {
				t.Errorf("the global breaker is %s (%s) with %d openings", st.State, st.Reason, st.Openings)
			}
		})
	}
	c := held(t)
	c.After(time.Minute)
	for _, name := range []string{"policy-p2", "global"} {
		if c.Reconciled(name); c.StateOf("global") != v1alpha1.BreakerOpen {
			t.Errorf("it has closed while all three are open")
		}
	}
}

func TestWhereTheTargetsOfAnOutcomeAre(t *testing.T) {
	cases := map[string]struct {
		outcome rollout.Outcome
		want    [][]string
	}{
		"one each": {rollout.Outcome{Count: 2, Namespaces: map[string]int32{"b": 1, "a": 1}},
			[][]string{{"a"}, {"b"}}},
		"many in one": {rollout.Outcome{Count: 40, Namespaces: map[string]int32{"a": 39, "b": 1}},
			[][]string{{"a"}, {"b"}}},
		"some in cluster scope": {rollout.Outcome{Count: 3, Namespaces: map[string]int32{"a": 1}},
			[][]string{{"a"}, nil}},
		"all in cluster scope": {rollout.Outcome{Count: 3}, [][]string{nil}},
		"metrics blame a whole wave": {rollout.Outcome{Count: 1, Namespaces: map[string]int32{"a": 1, "b": 1}},
			[][]string{{"a", "b"}}},
	}
	for name, tc := range cases {
		if got := tc.outcome.Places(); !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: want %v, got %v", name, tc.want, got)
		}
	}
}
