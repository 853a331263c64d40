// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/recorded"
)

// heldFor has a person hold a breaker open for a while, and its controller see so.
func heldFor(c *breakertest.Circuit, name string, d time.Duration) *v1alpha1.RemediationBreaker {
	cb := c.Read(name)
	cb.Spec.Mode, cb.Spec.ForcedOpenUntilTime = v1alpha1.BreakerForcedOpen, &metav1.Time{Time: c.Time.Now().Add(d)}
	recorded.Requests(cb, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionForceOpen, User: "ann", Reason: "INC-42",
		RequestTime: metav1.NewTime(c.Time.Now()), UntilTime: cb.Spec.ForcedOpenUntilTime}}...)
	c.Must(c.Kept.Update(c.Ctx, cb))
	return c.Reconciled(name)
}

func TestAHoldEndsByItself(t *testing.T) {
	c := breakertest.New(t)
	c.Must(breakersEnsured(c))
	gate := func() rollout.Gate {
		g, err := c.Consult(c.Ctx, c.Plan("a"))
		c.Must(err)
		return g
	}
	held := heldFor(c, "global", 2*time.Hour)
	end := v1alpha1.UntilText(held.Spec.ForcedOpenUntilTime)
	if told := c.Told(); !strings.Contains(told, v1alpha1.EventKillSwitchOn) ||
		!strings.Contains(told, "holds the breaker open"+end+" (ann: INC-42)") {
		t.Errorf("told: %s", told)
	}
	closed := meta.FindStatusCondition(held.Status.Conditions, v1alpha1.ConditionClosed)
	if closed == nil || closed.Status != metav1.ConditionFalse || !strings.Contains(closed.Message, end) ||
		!strings.Contains(held.Status.Message, end) {
		t.Errorf("the condition is %+v, the message %q", closed, held.Status.Message)
	}
	c.After(2*time.Hour - 1)
	if g := gate(); !g.Closed || !strings.Contains(g.Message, "no new write"+end+", or until") {
		t.Errorf("right before its end: %+v", g)
	}
	c.After(1)
	if g := gate(); g.Closed {
		t.Errorf("at its end, before its controller looks: %+v", g)
	}
	let := c.Reconciled("global")
	closed = meta.FindStatusCondition(let.Status.Conditions, v1alpha1.ConditionClosed)
	if closed == nil || closed.Status != metav1.ConditionTrue || let.Status.Mode != v1alpha1.BreakerAutomatic {
		t.Errorf("the condition is %+v, the mode %s", closed, let.Status.Mode)
	}
	if told := c.Told(); !strings.Contains(told, v1alpha1.EventKillSwitchOff) ||
		!strings.Contains(told, "a person held it open"+end+" (ann: INC-42); it is Closed") {
		t.Errorf("told: %s", told)
	}
	if c.Reconciled("global"); c.Told() != "" {
		t.Error("its end is told twice")
	}
}

func TestTheEndOfAHoldIsWaitedFor(t *testing.T) {
	for name, tc := range map[string]struct{ left, want time.Duration }{
		"it comes soon": {7 * time.Second, 7 * time.Second},
		"it is far off": {time.Hour, time.Minute},
		"it has passed": {-time.Second, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			c.Must(breakersEnsured(c))
			heldFor(c, "global", tc.left)
			result, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: "global"}})
			c.Must(err)
			if result.RequeueAfter != tc.want {
				t.Errorf("looked at again after %s, want %s", result.RequeueAfter, tc.want)
			}
		})
	}
}

// A hold that has ended keeps nothing there: who held the breaker of a namespace that is gone needn't close it.
func TestABreakerGoesAfterItsHoldHasEnded(t *testing.T) {
	c := breakertest.New(t)
	c.In("shop")
	c.Must(c.Record(c.Ctx, c.Plan("a"), []rollout.Outcome{breakertest.Failed("f", "shop")}))
	if heldFor(c, "namespace-shop", 48*time.Hour) == nil {
		t.Fatal("it went at once")
	}
	c.After(48*time.Hour - 1)
	if c.Reconciled("namespace-shop") == nil {
		t.Fatal("it went while a person held it open")
	}
	c.After(1)
	first := c.Reconciled("namespace-shop")
	if first == nil {
		t.Fatal("it is deleted before its status says that nobody holds it open: the API server refuses that")
	}
	if first.Status.Mode != v1alpha1.BreakerAutomatic || c.Reconciled("namespace-shop") != nil {
		t.Errorf("it stays, in mode %s", first.Status.Mode)
	}
}
