// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
)

func TestTheGateAsksForAnAnswerOfTheObjective(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer float64
		none   bool // nobody can be asked
		shut   string
	}{
		"A budget that is hardly spent lets writes begin": {reason: "0.1 %.", answer: 0.001},
		"One that burns opens the breaker": {
			reason: "139 %.", answer: 1, shut: v1alpha1.ReasonBreakerOpen},
		"No data lets none begin": {reason: "Unknown is never a pass.", answer: math.Inf(1),
			shut: v1alpha1.ReasonSLOUnknown},
		"No Prometheus lets none begin": {
			reason: "Nobody can be asked.", none: true, shut: v1alpha1.ReasonSLOUnknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			c.Policy("missing", func(s *fixture.Rollout) {
				s.Breaker.SLO = &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}
			})
			if !math.IsInf(tc.answer, 1) {
				c.Answers.Answers["burn"] = tc.answer
			}
			if tc.none {
				c.With(func(o *breaker.Options) { o.Analyzer, o.Metrics = nil, prometheus.NewRegistry() })
			}
			gate := c.Admitted(c.Plan("a"))
			if gate.Reason != tc.shut || gate.Closed != (tc.shut != "") {
				t.Errorf("%s\nthe gate says %+v, want closed by %q", tc.reason, gate, tc.shut)
			}
			open := c.Read("policy-tags").Status.State == v1alpha1.BreakerOpen
			if open != (tc.shut == v1alpha1.ReasonBreakerOpen) {
				t.Errorf("%s\nthe breaker is %+v", tc.reason, c.Read("policy-tags").Status)
			}
			for range 3 {
				c.After(9 * time.Second)
				c.Admitted(c.Plan("a"))
			}
			if n := len(c.Answers.Asked); n != 1 && !tc.none {
				t.Errorf("asked %d times within 27 s, want once", n)
			}
		})
	}
}

func TestABreakerThatCannotBeReadIsOpen(t *testing.T) {
	c := breakertest.New(t)
	c.Kept.Unreadable = true
	if gate := c.Admitted(c.Plan("a")); !gate.Closed || !strings.Contains(gate.Message, "etcd is down") {
		t.Errorf("the gate says %+v, want closed with the reason", gate)
	}
	wrong := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"},
		Spec: v1alpha1.RemediationBreakerSpec{Scope: breaker.PolicyScope("another")}}
	if gate := breakertest.New(t, wrong).Admitted(c.Plan("a")); !gate.Closed ||
		!strings.Contains(gate.Message, "not what its name says") {
		t.Errorf("the gate says %+v, want closed for a breaker of something else", gate)
	}
}

func TestABreakerThatIsReadWithoutItsSpecIsAnError(t *testing.T) {
	mark := map[string]string{v1alpha1.AnnotationMalformed: "mode: bad"}
	c := breakertest.New(t,
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global", Annotations: mark},
			Spec: v1alpha1.RemediationBreakerSpec{Scope: breaker.GlobalScope()}},
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"},
			Spec: v1alpha1.RemediationBreakerSpec{Scope: breaker.PolicyScope("tags")}})
	if _, err := c.Ensure(c.Ctx, breaker.GlobalScope()); err == nil || !strings.Contains(err.Error(), "mode: bad") {
		t.Errorf("it is read with the error %v", err)
	}
	if _, err := c.Ensure(c.Ctx, breaker.PolicyScope("tags")); err != nil {
		t.Errorf("a sound one is read with the error %v", err)
	}
}

func TestAStormIsKnownBeforeAnybodyPlans(t *testing.T) {
	c := breakertest.New(t)
	pol := c.Catalog.Snapshot().Definition("tags")
	for _, objects := range []int{10_000, 10_099} {
		c.Scan.Objects = objects
		mode, err := c.Mode(c.Ctx, pol, v1alpha1.RemediationAutomatic)
		if st := c.Read("policy-tags").Status; err != nil || mode != v1alpha1.RemediationAutomatic ||
			st.State != v1alpha1.BreakerClosed {
			t.Fatalf("%d violations: mode %s, breaker %s (%s), error %v", objects, mode, st.State, st.Message, err)
		}
		c.After(time.Minute)
	}
	c.Scan.Objects, c.Scan.Complete = 20_000, false
	if c.Admitted(c.Plan("a")).Closed {
		t.Fatal("a scan that isn't complete opens the breaker")
	}
	c.Scan.Objects, c.Scan.Complete = 10_100, true
	if _, err := c.Mode(c.Ctx, pol, v1alpha1.RemediationAutomatic); err != nil {
		t.Fatal(err)
	}
	if st := c.Read("policy-tags").Status; st.Reason != v1alpha1.ReasonStorm {
		t.Errorf("100 new violations: the breaker is %s (%s)", st.State, st.Reason)
	}
	if gate := c.Admitted(c.Plan("a")); !gate.Closed {
		t.Errorf("a plan is let through in a storm: %+v", gate)
	}
}
