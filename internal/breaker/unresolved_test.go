// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
)

// TestABreakerForgetsNothingWithoutItsStrategy: the strategy counts over a day and by an
// objective, the defaults over half an hour and by none. Whoever deletes the strategy for a
// while mustn't clear the breaker by it.
func TestABreakerForgetsNothingWithoutItsStrategy(t *testing.T) {
	shared := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: "one", Generation: 1}}
	shared.Spec.Breaker = v1alpha1.BreakerStrategy{Window: metav1.Duration{Duration: 24 * time.Hour},
		ConsecutiveFailures: 3,
		SLO:                 &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}}
	c := breakertest.New(t)
	c.Answers.Answers["burn"] = 0.0001
	c.Must(c.Catalog.SetStrategy(shared))
	c.Must(c.Catalog.Set(&v1alpha1.ClusterRegoPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid", Generation: 2}, Spec: v1alpha1.RegoPolicySpec{
			Rego: v1alpha1.RegoSource{Main: "package tags\n\ndeny contains \"x\" if false\n"},
			Match: v1alpha1.Match{
				Kinds: []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}},
			Remediation: v1alpha1.PolicyRemediation{
				Mode:        v1alpha1.RemediationAutomatic,
				StrategyRef: &v1alpha1.StrategyReference{Name: "careful"}}}}))
	plan := c.Plan("a")
	plan.Spec.Plan.Rollout.Breaker = *shared.Spec.Breaker.DeepCopy()
	plan.Spec.Plan.Rollout.Breaker.SetDefaults()
	fails := func(key string) { c.Must(c.Record(c.Ctx, plan, []rollout.Outcome{breakertest.Failed(key, "shop")})) }
	fails("first")
	was := c.Reconciled("policy-tags").Status
	if was.SLO == nil || was.Failures != 1 || len(was.Buckets) != 1 {
		t.Fatalf("before: %+v", was)
	}
	c.Must(c.Catalog.DeleteStrategy("careful"))
	c.After(5 * time.Hour)
	is := c.Reconciled("policy-tags").Status
	if diff := cmp.Diff(was, is); diff != "" {
		t.Errorf("without the strategy, five hours later (-was +is):\n%s", diff)
	}
	if gate := c.Admitted(plan); !gate.Closed || gate.Reason != v1alpha1.ReasonSLOUnknown {
		t.Errorf("the plan's objective isn't asked for: %+v", gate)
	}
	fails("second") // what was begun before fails after
	if is = c.Read("policy-tags").Status; is.Failures != 2 || is.State != v1alpha1.BreakerClosed || is.SLO == nil {
		t.Errorf("an outcome without the strategy is counted by the plan's: %+v", is)
	}
	c.Must(c.Catalog.SetStrategy(shared))
	fails("third")
	if state := c.Reconciled("policy-tags").Status; state.State != v1alpha1.BreakerOpen || state.Failures != 3 ||
		state.SLO == nil {
		t.Errorf("the third failure within a day is to open it: %+v", state)
	}
}
