// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/recorded"
)

func TestTimeIsShownWhileNoPlanAsks(t *testing.T) {
	c := breakertest.New(t)
	c.Opened("1")
	c.After(29 * time.Minute)
	if st := c.Reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Fatalf("after 29 minutes the breaker is %s", st.State)
	}
	result, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "policy-tags"}})
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
		t.Errorf("looked at again after %s (%v), want within the minute that is left", result.RequeueAfter, err)
	}
	c.After(time.Minute)
	if st := c.Reconciled("policy-tags").Status; st.State != v1alpha1.BreakerHalfOpen {
		t.Errorf("after 30 minutes the breaker is %s", st.State)
	}
}

func TestAResetIsAuditedAndCarriedOutOnce(t *testing.T) {
	c := breakertest.New(t)
	c.Opened("1")
	c.Told()
	cb := c.Read("policy-tags")
	cb.Spec.ResetToken = "1"
	recorded.Requests(cb, []v1alpha1.RequestRecord{
		{Action: v1alpha1.ActionReset, Token: "1", Reason: "the registry is back", User: "alice"}}...)
	c.Must(c.Kept.Update(c.Ctx, cb))
	st := c.Reconciled("policy-tags").Status
	if st.State != v1alpha1.BreakerClosed || st.LastReset == nil || st.LastReset.By != "alice" ||
		st.LastHandledResetToken != "1" {
		t.Fatalf("after the reset: %s, %+v", st.State, st.LastReset)
	}
	if told := c.Told(); told != "Normal BreakerReset reset by alice: the registry is back" {
		t.Errorf("told: %s", told)
	}
	c.Opened("2")
	c.Told()
	if st := c.Reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen || c.Told() != "" {
		t.Errorf("the reset is carried out again: %s", st.State)
	}
}

func TestTheKillSwitchIsToldOnce(t *testing.T) {
	c := breakertest.New(t)
	c.Must(breakersEnsured(c))
	for _, step := range []struct {
		forced v1alpha1.BreakerMode
		tells  string
	}{{v1alpha1.BreakerForcedOpen, v1alpha1.EventKillSwitchOn}, {"", v1alpha1.EventKillSwitchOff}} {
		cb := c.Read("global")
		cb.Spec.Mode = step.forced
		c.Must(c.Kept.Update(c.Ctx, cb))
		c.Reconciled("global")
		if told := c.Told(); !strings.Contains(told, step.tells) {
			t.Errorf("forced %q tells %q", step.forced, told)
		}
		closed := meta.FindStatusCondition(c.Reconciled("global").Status.Conditions, v1alpha1.ConditionClosed)
		if closed == nil || (closed.Status == metav1.ConditionTrue) != (step.forced == "") || c.Told() != "" {
			t.Errorf("forced %q: Closed is %+v, or it is told twice", step.forced, closed)
		}
	}
}

func breakersEnsured(c *breakertest.Circuit) error {
	_, err := c.Ensure(c.Ctx, breaker.GlobalScope())
	return err
}

func TestANamespacesBreakerGoesWhenItIsNeededNoMore(t *testing.T) {
	cases := map[string]struct {
		reason string
		gone   bool
		forced v1alpha1.BreakerMode
		after  time.Duration
		stays  bool
	}{
		"Its namespace is gone": {reason: "Nothing is left to cover.", gone: true},
		"It has counted nothing for a day": {reason: "It is made anew with the next failure.",
			after: 25 * time.Hour},
		"It has counted a failure today": {reason: "The next ones add to it.", after: 23 * time.Hour,
			stays: true},
		"A person holds it open": {reason: "Their word stays.", forced: v1alpha1.BreakerForcedOpen,
			after: 25 * time.Hour, stays: true},
		"A person holds it open for what isn't yet": {reason: "Their word stays.", forced: v1alpha1.BreakerForcedOpen,
			gone: true, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			if !tc.gone {
				c.In("shop")
			}
			c.Must(c.Record(c.Ctx, c.Plan("a"), []rollout.Outcome{breakertest.Failed("f", "shop")}))
			cb := c.Read("namespace-shop")
			cb.Spec.Mode = tc.forced
			c.Must(c.Kept.Update(c.Ctx, cb))
			c.After(tc.after)
			if got := c.Reconciled("namespace-shop"); (got != nil) != tc.stays {
				t.Errorf("%s\nthe breaker stays: %t, want %t", tc.reason, got != nil, tc.stays)
			}
		})
	}
}

func TestAPolicysBreakerOutlivesItWhileItIsNotClosed(t *testing.T) {
	cb := breakertest.Half()
	cb.Name, cb.Spec.Scope = "policy-gone", breaker.PolicyScope("gone")
	c := breakertest.New(t, cb)
	if got := c.Reconciled("policy-gone"); got == nil || got.Status.State != v1alpha1.BreakerHalfOpen {
		t.Fatalf("with its policy, the breaker goes: %+v", got)
	}
	c.After(8 * 24 * time.Hour)
	if got := c.Reconciled("policy-gone"); got == nil || got.Status.State != v1alpha1.BreakerClosed ||
		got.Status.Reason != v1alpha1.ReasonForgotten {
		t.Fatalf("after a week it isn't closed, without which nobody can delete it: %+v", got)
	}
	if got := c.Reconciled("policy-gone"); got != nil {
		t.Errorf("closed, it stays: %+v", got.Status)
	}
}

func TestThreeOpenPolicyBreakersOpenTheGlobalOneWithoutAPlan(t *testing.T) {
	var objects []*v1alpha1.RemediationBreaker
	for i := range 3 {
		cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("policy-p%d", i)},
			Spec: v1alpha1.RemediationBreakerSpec{Scope: breaker.PolicyScope(fmt.Sprintf("p%d", i))}}
		cb.Status = circuit.Open(cb.Status, v1alpha1.ReasonStorm, "A storm.", v1alpha1.BreakerStrategy{},
			breakertest.Noon)
		objects = append(objects, cb)
	}
	c := breakertest.New(t, objects...)
	c.Reconciled("policy-p0")
	if st := c.Read("global").Status; st.State != v1alpha1.BreakerOpen ||
		st.Reason != v1alpha1.ReasonPolicyBreakersOpen {
		t.Errorf("the global breaker is %s (%s)", st.State, st.Reason)
	}
	if c = breakertest.New(t, objects[:2]...); c.Reconciled("policy-p0") == nil || c.Read("global") != nil {
		t.Error("two open breakers already do something to the global one")
	}
}

func TestTheFiguresAreRightAfterARestartAndADeletion(t *testing.T) {
	open := breakertest.Half()
	c := breakertest.New(t, open).In("shop")
	c.Opened("1")
	c.Restart()
	c.Must(breakersEnsured(c))
	c.Reconciled("global")
	figure := func(policy, scope string) float64 {
		return c.Figures("evenkeel_breaker_open")[policy+"/"+scope]
	}
	if p, n, g := figure("tags", "Policy"), figure("", "Namespace"), figure("", "Global"); p != 1 || n != 1 || g != 0 {
		t.Errorf("after a restart: policy %v, namespaces %v, global %v", p, n, g)
	}
	c.Must(c.Kept.Delete(c.Ctx, c.Read("policy-tags")))
	c.Reconciled("policy-tags")
	if n := len(c.Figures("evenkeel_breaker_open")); n != 2 {
		t.Errorf("after its deletion %d breakers are shown, want the global one and the namespaces", n)
	}
	c.Must(c.Kept.Delete(c.Ctx, c.Read("global")))
	if c.Reconciled("global") == nil {
		t.Error("the kill switch isn't there after its deletion")
	}
}

func TestNothingIsSaidBeforeThePoliciesAreRead(t *testing.T) {
	c := breakertest.New(t)
	c.Opened("1")
	c.After(time.Hour)
	c.With(func(o *breaker.Options) { o.Policies, o.Metrics = unread{c.Catalog}, prometheus.NewRegistry() })
	if st := c.Reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Errorf("a breaker is %s by limits that nobody knows yet", st.State)
	}
}

// unread is a catalog that doesn't hold every policy yet.
type unread struct{ breaker.Policies }

func (unread) Complete() bool { return false }
