// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// A plan that ends without an outcome, a dry run say, has no permit to give back:
// no breaker is made for it, and none is written. One that was made so had a
// condition and no state, which can't be right, and opened.
func TestGivingBackMakesNoBreaker(t *testing.T) {
	c := breakertest.New(t)
	c.Must(c.Release(c.Ctx, c.Plan("preview")))
	if all := c.Kept.Kept; len(all) > 0 {
		t.Fatalf("giving back a permit that nobody holds made breakers: %v", all)
	}
	if gate := c.Admitted(c.Plan("first")); gate.Closed {
		t.Fatalf("the first plan isn't let through: %+v", gate)
	}
	before := c.Read("policy-tags").ResourceVersion
	c.Must(c.Release(c.Ctx, c.Plan("preview")))
	if now := c.Read("policy-tags"); now.ResourceVersion != before || now.Status.State != v1alpha1.BreakerClosed {
		t.Errorf("giving back what nobody holds wrote the breaker: %+v", now.Status)
	}
}

// What a plan holds it gives back at every scope, and to nobody else's cost.
func TestGivingBackReachesEveryScope(t *testing.T) {
	c := breakertest.New(t).In("shop")
	for _, name := range []string{v1alpha1.GlobalBreakerName, "policy-tags", "namespace-shop"} {
		scope := map[string]v1alpha1.BreakerScope{v1alpha1.GlobalBreakerName: breaker.GlobalScope(),
			"policy-tags": breaker.PolicyScope("tags"), "namespace-shop": breaker.NamespaceScope("shop")}[name]
		c.Change(scope, func(cb *v1alpha1.RemediationBreaker) {
			cb.Status = circuit.Open(cb.Status, v1alpha1.ReasonStorm, "many", v1alpha1.BreakerStrategy{}, c.Time.Now())
		})
	}
	c.After(31 * time.Minute)
	for _, name := range []string{v1alpha1.GlobalBreakerName, "policy-tags", "namespace-shop"} {
		cb := c.Read(name)
		cb.Status, _ = circuit.Admit(cb, "a", v1alpha1.BreakerStrategy{}, c.Time.Now(), time.Hour)
		c.Must(c.Kept.Status().Update(c.Ctx, cb))
	}
	c.Must(c.Release(c.Ctx, c.Plan("b")))
	for _, held := range []bool{true, false} {
		for _, name := range []string{v1alpha1.GlobalBreakerName, "policy-tags", "namespace-shop"} {
			if st := c.Read(name).Status; circuit.Holds(st, "a") != held {
				t.Errorf("%s: plan a holds the permit: %t, want %t (%+v)", name, !held, held, st)
			}
		}
		c.Must(c.Release(c.Ctx, c.Plan("a")))
	}
}
