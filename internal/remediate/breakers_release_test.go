package remediate

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// A plan that ends without an outcome, a dry run say, has no permit to give back:
// no breaker is made for it, and none is written. One that was made so had a
// condition and no state, which can't be right, and opened.
func TestGivingBackMakesNoBreaker(t *testing.T) {
	c := newCircuit(t)
	c.must(c.release(c.ctx, c.plan("preview")))
	if all, _ := c.kept.All(c.ctx); len(all) > 0 {
		t.Fatalf("giving back a permit that nobody holds made %d breakers: %s", len(all), all[0].Name)
	}
	if gate := c.admitted(c.plan("first")); gate.Closed {
		t.Fatalf("the first plan isn't let through: %+v", gate)
	}
	before := c.read("policy-tags").ResourceVersion
	c.must(c.release(c.ctx, c.plan("preview")))
	if now := c.read("policy-tags"); now.ResourceVersion != before || now.Status.State != v1alpha1.BreakerClosed {
		t.Errorf("giving back what nobody holds wrote the breaker: %+v", now.Status)
	}
}

// What a plan holds it gives back at every scope, and to nobody else's cost.
func TestGivingBackReachesEveryScope(t *testing.T) {
	c := newCircuit(t).in("shop")
	for _, name := range []string{v1alpha1.GlobalBreakerName, "policy-tags", "namespace-shop"} {
		scope := map[string]v1alpha1.BreakerScope{v1alpha1.GlobalBreakerName: globalScope(), "policy-tags": policyScope("tags"), "namespace-shop": namespaceScope("shop")}[name]
		c.change(scope, func(cb *v1alpha1.RemediationBreaker) {
			cb.Status = canary.Open(cb.Status, canary.ReasonStorm, "many", v1alpha1.BreakerStrategy{}, c.time.Now())
		})
	}
	c.after(31 * time.Minute)
	for _, name := range []string{v1alpha1.GlobalBreakerName, "policy-tags", "namespace-shop"} {
		cb, err := c.kept.Get(c.ctx, name)
		c.must(err)
		before := cb.DeepCopy()
		cb.Status, _ = canary.Admit(cb, "a", v1alpha1.BreakerStrategy{}, c.time.Now(), time.Hour)
		c.must(c.kept.WriteStatus(c.ctx, before, cb))
	}
	c.must(c.release(c.ctx, c.plan("b")))
	for _, held := range []bool{true, false} {
		for _, name := range []string{v1alpha1.GlobalBreakerName, "policy-tags", "namespace-shop"} {
			if st := c.read(name).Status; canary.Holds(st, "a") != held {
				t.Errorf("%s: plan a holds the permit: %t, want %t (%+v)", name, !held, held, st)
			}
		}
		c.must(c.release(c.ctx, c.plan("a")))
	}
}
