package remediate

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
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/escalate"
)

func TestTimeIsShownWhileNoPlanAsks(t *testing.T) {
	c := newCircuit(t)
	c.opened("1")
	c.after(29 * time.Minute)
	if st := c.reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Fatalf("after 29 minutes the breaker is %s", st.State)
	}
	result, err := c.control.Reconcile(c.ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "policy-tags"}})
	if err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Minute {
		t.Errorf("looked at again after %s (%v), want within the minute that is left", result.RequeueAfter, err)
	}
	c.after(time.Minute)
	if st := c.reconciled("policy-tags").Status; st.State != v1alpha1.BreakerHalfOpen {
		t.Errorf("after 30 minutes the breaker is %s", st.State)
	}
}

func TestAResetIsAuditedAndCarriedOutOnce(t *testing.T) {
	c := newCircuit(t)
	c.opened("1")
	c.told()
	cb := c.read("policy-tags")
	cb.Spec.ResetToken = "1"
	cb.Spec.Requests = []v1alpha1.RequestRecord{{Action: v1alpha1.ActionReset, Token: "1", Reason: "the registry is back", User: "alice"}}
	c.must(c.kept.writeSpec(cb))
	st := c.reconciled("policy-tags").Status
	if st.State != v1alpha1.BreakerClosed || st.LastReset == nil || st.LastReset.By != "alice" || st.LastHandledResetToken != "1" {
		t.Fatalf("after the reset: %s, %+v", st.State, st.LastReset)
	}
	if told := c.told(); told != "Normal BreakerReset reset by alice: the registry is back" {
		t.Errorf("told: %s", told)
	}
	c.opened("2")
	c.told()
	if st := c.reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen || c.told() != "" {
		t.Errorf("the reset is carried out again: %s", st.State)
	}
}

func TestTheKillSwitchIsToldOnce(t *testing.T) {
	c := newCircuit(t)
	c.must(breakersEnsured(c))
	for _, step := range []struct {
		forced v1alpha1.BreakerMode
		tells  string
	}{{v1alpha1.BreakerForcedOpen, escalate.ReasonKillSwitchOn}, {"", escalate.ReasonKillSwitchOff}} {
		cb := c.read("global")
		cb.Spec.Mode = step.forced
		c.must(c.kept.writeSpec(cb))
		c.reconciled("global")
		if told := c.told(); !strings.Contains(told, step.tells) {
			t.Errorf("forced %q tells %q", step.forced, told)
		}
		closed := meta.FindStatusCondition(c.reconciled("global").Status.Conditions, v1alpha1.ConditionClosed)
		if closed == nil || (closed.Status == metav1.ConditionTrue) != (step.forced == "") || c.told() != "" {
			t.Errorf("forced %q: Closed is %+v, or it is told twice", step.forced, closed)
		}
	}
}

func breakersEnsured(c *circuit) error {
	_, err := c.ensure(c.ctx, globalScope())
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
		"Its namespace is gone":                     {reason: "Nothing is left to cover.", gone: true},
		"It has counted nothing for a day":          {reason: "It is made anew with the next failure.", after: 25 * time.Hour},
		"It has counted a failure today":            {reason: "The next ones add to it.", after: 23 * time.Hour, stays: true},
		"A person holds it open":                    {reason: "Their word stays.", forced: v1alpha1.BreakerForcedOpen, after: 25 * time.Hour, stays: true},
		"A person holds it open for what isn't yet": {reason: "Their word stays.", forced: v1alpha1.BreakerForcedOpen, gone: true, stays: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCircuit(t)
			if !tc.gone {
				c.in("shop")
			}
			c.must(c.record(c.ctx, c.plan("a"), []Outcome{failed("f", "shop")}))
			cb := c.read("namespace-shop")
			cb.Spec.Mode = tc.forced
			c.must(c.kept.writeSpec(cb))
			c.after(tc.after)
			if got := c.reconciled("namespace-shop"); (got != nil) != tc.stays {
				t.Errorf("%s\nthe breaker stays: %t, want %t", tc.reason, got != nil, tc.stays)
			}
		})
	}
}

func TestAPolicysBreakerOutlivesItWhileItIsNotClosed(t *testing.T) {
	cb := half()
	cb.Name, cb.Spec.Scope = "policy-gone", policyScope("gone")
	c := newCircuit(t, cb)
	if got := c.reconciled("policy-gone"); got == nil || got.Status.State != v1alpha1.BreakerHalfOpen {
		t.Fatalf("with its policy, the breaker goes: %+v", got)
	}
	c.after(8 * 24 * time.Hour)
	if got := c.reconciled("policy-gone"); got == nil || got.Status.State != v1alpha1.BreakerClosed || got.Status.Reason != canary.ReasonForgotten {
		t.Fatalf("after a week it isn't closed, without which nobody can delete it: %+v", got)
	}
	if got := c.reconciled("policy-gone"); got != nil {
		t.Errorf("closed, it stays: %+v", got.Status)
	}
}

func TestThreeOpenPolicyBreakersOpenTheGlobalOneWithoutAPlan(t *testing.T) {
	var objects []*v1alpha1.RemediationBreaker
	for i := range 3 {
		cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("policy-p%d", i)},
			Spec: v1alpha1.RemediationBreakerSpec{Scope: policyScope(fmt.Sprintf("p%d", i))}}
		cb.Status = canary.Open(cb.Status, canary.ReasonStorm, "A storm.", v1alpha1.BreakerStrategy{}, noon)
		objects = append(objects, cb)
	}
	c := newCircuit(t, objects...)
	c.reconciled("policy-p0")
	if st := c.read("global").Status; st.State != v1alpha1.BreakerOpen || st.Reason != canary.ReasonPolicyBreakersOpen {
		t.Errorf("the global breaker is %s (%s)", st.State, st.Reason)
	}
	if c = newCircuit(t, objects[:2]...); c.reconciled("policy-p0") == nil || c.read("global") != nil {
		t.Error("two open breakers already do something to the global one")
	}
}

func TestTheFiguresAreRightAfterARestartAndADeletion(t *testing.T) {
	open := half()
	c := newCircuit(t, open).in("shop")
	c.opened("1")
	c.restart()
	c.must(breakersEnsured(c))
	c.reconciled("global")
	figure := func(policy, scope string) float64 {
		return c.figures("evenkeel_breaker_open")[policy+"/"+scope]
	}
	if p, n, g := figure("tags", "Policy"), figure("", "Namespace"), figure("", "Global"); p != 1 || n != 1 || g != 0 {
		t.Errorf("after a restart: policy %v, namespaces %v, global %v", p, n, g)
	}
	c.must(c.kept.Remove(c.ctx, c.read("policy-tags")))
	c.reconciled("policy-tags")
	if n := len(c.figures("evenkeel_breaker_open")); n != 2 {
		t.Errorf("after its deletion %d breakers are shown, want the global one and the namespaces", n)
	}
	c.must(c.kept.Remove(c.ctx, c.read("global")))
	if c.reconciled("global") == nil {
		t.Error("the kill switch isn't there after its deletion")
	}
}

func TestNothingIsSaidBeforeThePoliciesAreRead(t *testing.T) {
	c := newCircuit(t)
	c.opened("1")
	c.after(time.Hour)
	c.with(func(o *breakerOptions) { o.Policies, o.Metrics = unread{c.catalog}, prometheus.NewRegistry() })
	if st := c.reconciled("policy-tags").Status; st.State != v1alpha1.BreakerOpen {
		t.Errorf("a breaker is %s by limits that nobody knows yet", st.State)
	}
}

// unread is a catalog that doesn't hold every policy yet.
type unread struct{ breakerPolicies }

func (unread) Complete() bool { return false }
