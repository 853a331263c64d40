// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
)

// open opens the breaker of a scope, for one namespace alone if that is named.
func open(c *breakertest.Circuit, scope v1alpha1.BreakerScope, only string) {
	c.Helper()
	c.Change(scope, func(cb *v1alpha1.RemediationBreaker) {
		cb.Status = circuit.Open(cb.Status, v1alpha1.ReasonStorm, "A storm.", v1alpha1.BreakerStrategy{}, c.Time.Now())
		cb.Status.OnlyNamespace = only
	})
}

func TestKeptBack(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		given  func(c *breakertest.Circuit)
		want   []string
	}{
		"nothing is open": {reason: "nothing is kept back", given: func(*breakertest.Circuit) {}},
		"a namespace's breaker": {reason: "it keeps its namespace back",
			given: func(c *breakertest.Circuit) { open(c, breaker.NamespaceScope("shop"), "") },
			want:  []string{"shop"}},
		"the policy's, for a namespace": {reason: "it keeps that back",
			given: func(c *breakertest.Circuit) { open(c, breaker.PolicyScope("tags"), "bank") },
			want:  []string{"bank"}},
		"the policy's, for all": {reason: "that is no namespace",
			given: func(c *breakertest.Circuit) { open(c, breaker.PolicyScope("tags"), "") }},
		"another policy's, for a namespace": {reason: "it is another's",
			given: func(c *breakertest.Circuit) { open(c, breaker.PolicyScope("other"), "bank") }},
		"the global one": {reason: "that is no namespace",
			given: func(c *breakertest.Circuit) { open(c, breaker.GlobalScope(), "") }},
		"a namespace's that probes": {reason: "its permit may be had",
			given: func(c *breakertest.Circuit) { open(c, breaker.NamespaceScope("shop"), ""); c.After(time.Hour) }},
		"a kill switch on one that probes": {reason: "no permit may be had", want: []string{"shop"},
			given: func(c *breakertest.Circuit) {
				open(c, breaker.NamespaceScope("shop"), "")
				c.After(time.Hour)
				c.Kept.Kept["namespace-shop"].Spec.Mode = v1alpha1.BreakerForcedOpen
			}},
		"a namespace's whose probe is another's": {reason: "its permit is taken", want: []string{"shop"},
			given: func(c *breakertest.Circuit) {
				open(c, breaker.NamespaceScope("shop"), "")
				c.After(time.Hour)
				if gate := c.Writes(c.Plan("other"), "shop"); gate.Closed {
					c.Fatalf("no permit is given: %+v", gate)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t).In("shop", "bank")
			tc.given(c)
			back, err := c.KeptBack(c.Ctx, c.Plan("another"))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for in, why := range back {
				if got = append(got, in); why == "" {
					t.Errorf("%s is kept back without a reason", in)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

// TestAPlanIsToldInWhichNamespacesItMayWriteNothing holds what is asked right before a write: also that a plan with the
// permit of a namespace's breaker may probe there.
func TestAPlanIsToldInWhichNamespacesItMayWriteNothing(t *testing.T) {
	c := breakertest.New(t).In("shop", "bank")
	keeps := func(when string, rem *v1alpha1.Remediation, want ...string) {
		t.Helper()
		gate, err := c.Consult(c.Ctx, rem)
		c.Must(err)
		var got []string
		for in := range gate.KeptBack {
			got = append(got, in)
		}
		slices.Sort(got)
		if gate.Closed || !slices.Equal(got, want) {
			t.Errorf("%s: %+v, want %q kept back", when, gate, want)
		}
	}
	rem := c.Plan("a")
	keeps("nothing is open", rem)
	c.Change(breaker.NamespaceScope("shop"), func(*v1alpha1.RemediationBreaker) {})
	c.Kept.Kept["namespace-shop"].Spec.Mode = v1alpha1.BreakerForcedOpen
	open(c, breaker.PolicyScope("tags"), "bank")
	keeps("a kill switch, and the policy's breaker for one", rem, "bank", "shop")
	c.Kept.Kept["namespace-shop"].Spec.Mode = ""
	open(c, breaker.NamespaceScope("shop"), "")
	c.After(time.Hour)
	keeps("both probe", rem)
	if gate := c.Writes(rem, "shop"); gate.Closed {
		t.Fatalf("no permit is given: %+v", gate)
	}
	keeps("it has the permit", rem)
	if gate, err := c.Consult(c.Ctx, c.Plan("b")); err != nil || !gate.Closed && gate.KeptBack["shop"] == "" {
		t.Errorf("another plan without the permit: %+v, %v", gate, err)
	}
	open(c, breaker.GlobalScope(), "")
	if gate, err := c.Consult(c.Ctx, rem); err != nil || !gate.Closed {
		t.Errorf("the global one is open: %+v, %v", gate, err)
	}
}

func TestOutlasted(t *testing.T) {
	inShop := []v1alpha1.ObjectReference{{Namespace: "shop", Name: "c"}}
	elsewhere := []policy.Finding{{Namespace: "shop", Fixable: true}, {Namespace: "bank", Fixable: true}}
	for name, tc := range map[string]struct {
		reason  string
		given   func(c *breakertest.Circuit, rem *v1alpha1.Remediation)
		pending []v1alpha1.ObjectReference
		want    bool
	}{
		"all that is left is kept back, and others wait": {reason: "a plan for them follows", pending: inShop,
			want: true},
		"something else is left": {reason: "it goes on",
			pending: append([]v1alpha1.ObjectReference{{Namespace: "bank"}}, inShop...)},
		"it isn't held": {reason: "it goes on", pending: inShop,
			given: func(_ *breakertest.Circuit,
				rem *v1alpha1.Remediation) {
				rem.Status.Phase = v1alpha1.PhaseApplying
			}},
		"it is held for something else": {reason: "it isn't the breakers", pending: inShop,
			given: func(_ *breakertest.Circuit,
				rem *v1alpha1.Remediation) {
				rem.Status.Reason = v1alpha1.ReasonPaused
			}},
		"nothing is kept back any more": {reason: "it goes on soon", pending: inShop,
			given: func(c *breakertest.Circuit, _ *v1alpha1.Remediation) { c.After(time.Hour) }},
		"nobody knows who waits": {reason: "the scan isn't complete", pending: inShop,
			given: func(c *breakertest.Circuit, _ *v1alpha1.Remediation) { c.Scan.Complete = false }},
		"the policy has changed": {reason: "the plan ends for that", pending: inShop,
			given: func(_ *breakertest.Circuit,
				rem *v1alpha1.Remediation) {
				rem.Spec.Plan.Policy.Revision = "before"
			}},
		"nothing else waits": {reason: "a plan would be for nothing", pending: inShop,
			given: func(c *breakertest.Circuit, _ *v1alpha1.Remediation) {
				c.Scan.Found = elsewhere[:1]
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t).In("shop", "bank")
			c.Scan.Found = elsewhere
			open(c, breaker.NamespaceScope("shop"), "")
			rem := heldPlan(c)
			if tc.given != nil {
				tc.given(c, rem)
			}
			if why, err := c.Outlasted(c.Ctx, rem, tc.pending); (why != "") != tc.want || err != nil {
				t.Errorf("%s: got %q, %v, want outlasted: %t", tc.reason, why, err, tc.want)
			}
		})
	}
}

// A policy's breaker that is open for one namespace keeps writes back there, and nowhere else.
func TestAPolicysBreakerOfOneNamespace(t *testing.T) {
	c := breakertest.New(t).In("shop", "bank")
	open(c, breaker.PolicyScope("tags"), "shop")
	for in, closed := range map[string]bool{"shop": true, "bank": false, "": false} {
		if gate := c.Writes(c.Plan("a"), in); gate.Closed != closed || closed && gate.Message == "" {
			t.Errorf("a write in %q: %+v, want closed: %t", in, gate, closed)
		}
	}
	if diff := cmp.Diff([]string{"shop"}, c.BarredIn(c.Plan("a"), map[string]int32{"shop": 0, "bank": 0,
		"": 0})); diff != "" {
		t.Errorf("barred: -want +got\n%s", diff)
	}
}

// A permit lasts for as long as every wave may take, and one more.
func TestHowLongAPermitLasts(t *testing.T) {
	c := breakertest.New(t, breakertest.Half()).In("shop")
	rem := c.Plan("a")
	rem.Spec.Plan.Waves = fixture.PlannedWaves(1, 2, 3)
	c.Writes(rem, "shop")
	want := 4 * rollout.FlapFactor * (rem.Spec.Plan.Rollout.ProgressDeadline.Duration + v1alpha1.DefaultSoak)
	permit := c.Read("namespace-shop").Status.Permit
	if permit == nil || permit.ExpirationTime.Sub(c.Time.Now()) != want {
		t.Errorf("got %+v, want a permit for %s", permit, want)
	}
}

func TestPreviewed(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		scope  v1alpha1.BreakerScope
		given  func(c *breakertest.Circuit)
		want   string
		only   string
	}{
		"closed": {reason: "it lets the plan through", scope: breaker.PolicyScope("tags"),
			given: func(*breakertest.Circuit) {}},
		"open": {reason: "it doesn't", scope: breaker.PolicyScope("tags"),
			given: func(c *breakertest.Circuit) { c.Opened("1") }, want: v1alpha1.ReasonBreakerOpen},
		"open for one namespace": {reason: "the namespace is named", scope: breaker.PolicyScope("tags"),
			given: func(c *breakertest.Circuit) { open(c, breaker.PolicyScope("tags"), "shop") },
			want:  v1alpha1.ReasonBreakerOpen, only: "shop"},
		"demoted": {reason: "it is a dry run", scope: breaker.PolicyScope("tags"),
			given: demote, want: v1alpha1.ReasonDemoted},
		"demoted by another rule": {reason: "the demotion has ended", scope: breaker.PolicyScope("tags"),
			given: func(c *breakertest.Circuit) {
				demote(c)
				c.Policy("another", func(*fixture.Rollout) {})
			}},
		"another one with a demotion": {reason: "only a policy is demoted", scope: breaker.GlobalScope(),
			given: func(c *breakertest.Circuit) {
				c.Change(breaker.GlobalScope(), func(cb *v1alpha1.RemediationBreaker) {
					cb.Status.State, cb.Status.Demoted = v1alpha1.BreakerClosed, &v1alpha1.BreakerDemotion{}
				})
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			tc.given(c)
			cb, err := c.Ensure(c.Ctx, tc.scope)
			c.Must(err)
			gate, only := breaker.Previewed(c.Catalog, cb, c.Plan("a"), c.Time.Now())
			if gate.Reason != tc.want || gate.Closed != (tc.want != "") || only != tc.only {
				t.Errorf("%s: got %+v for %q, want %q for %q", tc.reason, gate, only, tc.want, tc.only)
			}
		})
	}
}

// demote opens the breaker of "tags" three times in a day, and lets it cool down.
func demote(c *breakertest.Circuit) {
	c.Helper()
	for _, key := range []string{"1", "2", "3"} {
		c.Opened(key)
		c.After(3 * time.Hour)
	}
}
