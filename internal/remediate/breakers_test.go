package remediate

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestTheGateAsksForAnAnswerOfTheObjective(t *testing.T) {
	cases := map[string]struct {
		reason string
		answer float64
		none   bool // nobody can be asked
		shut   string
	}{
		"A budget that is hardly spent lets writes begin": {reason: "0.1 %.", answer: 0.001},
		"One that burns opens the breaker":                {reason: "139 %.", answer: 1, shut: v1alpha1.ReasonBreakerOpen},
		"No data lets none begin":                         {reason: "Unknown is never a pass.", answer: math.Inf(1), shut: v1alpha1.ReasonSLOUnknown},
		"No Prometheus lets none begin":                   {reason: "Nobody can be asked.", none: true, shut: v1alpha1.ReasonSLOUnknown},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := newCircuit(t)
			c.policy("missing", func(s *v1alpha1.RolloutStrategy) {
				s.Breaker.SLO = &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}
			})
			if !math.IsInf(tc.answer, 1) {
				c.answers.answers["burn"] = tc.answer
			}
			if tc.none {
				c.with(func(o *breakerOptions) { o.Analyzer, o.Metrics = nil, prometheus.NewRegistry() })
			}
			gate := c.admitted(c.plan("a"))
			if gate.Reason != tc.shut || gate.Closed != (tc.shut != "") {
				t.Errorf("%s\nthe gate says %+v, want closed by %q", tc.reason, gate, tc.shut)
			}
			if open := c.read("policy-tags").Status.State == v1alpha1.BreakerOpen; open != (tc.shut == v1alpha1.ReasonBreakerOpen) {
				t.Errorf("%s\nthe breaker is %+v", tc.reason, c.read("policy-tags").Status)
			}
			for range 3 {
				c.after(9 * time.Second)
				c.admitted(c.plan("a"))
			}
			if n := len(c.answers.asked); n != 1 && !tc.none {
				t.Errorf("asked %d times within 27 s, want once", n)
			}
		})
	}
}

func TestABreakerThatCannotBeReadIsOpen(t *testing.T) {
	c := newCircuit(t)
	c.kept.unreadable = true
	if gate := c.admitted(c.plan("a")); !gate.Closed || !strings.Contains(gate.Message, "etcd is down") {
		t.Errorf("the gate says %+v, want closed with the reason", gate)
	}
	wrong := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"},
		Spec: v1alpha1.RemediationBreakerSpec{Scope: policyScope("another")}}
	if gate := newCircuit(t, wrong).admitted(c.plan("a")); !gate.Closed || !strings.Contains(gate.Message, "not what its name says") {
		t.Errorf("the gate says %+v, want closed for a breaker of something else", gate)
	}
}

func TestABreakerThatIsReadWithoutItsSpecIsAnError(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	mark := map[string]string{v1alpha1.AnnotationMalformed: "mode: bad"}
	store := newBreakerReader(fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "global", Annotations: mark}},
		&v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: "policy-tags"}},
	).Build())
	if _, err := store.Get(t.Context(), "global"); err == nil || !strings.Contains(err.Error(), "mode: bad") {
		t.Errorf("it is read with the error %v", err)
	}
	if _, err := store.Get(t.Context(), "policy-tags"); err != nil {
		t.Errorf("a sound one is read with the error %v", err)
	}
}

func TestAStormIsKnownBeforeAnybodyPlans(t *testing.T) {
	c := newCircuit(t)
	pol := c.catalog.Snapshot().Definition("tags")
	for _, objects := range []int{10_000, 10_099} {
		c.scan.objects = objects
		mode, err := c.mode(c.ctx, pol, v1alpha1.RemediationAutomatic)
		if st := c.read("policy-tags").Status; err != nil || mode != v1alpha1.RemediationAutomatic || st.State != v1alpha1.BreakerClosed {
			t.Fatalf("%d violations: mode %s, breaker %s (%s), error %v", objects, mode, st.State, st.Message, err)
		}
		c.after(time.Minute)
	}
	c.scan.objects, c.scan.complete = 20_000, false
	if c.admitted(c.plan("a")).Closed {
		t.Fatal("a scan that isn't complete opens the breaker")
	}
	c.scan.objects, c.scan.complete = 10_100, true
	if _, err := c.mode(c.ctx, pol, v1alpha1.RemediationAutomatic); err != nil {
		t.Fatal(err)
	}
	if st := c.read("policy-tags").Status; st.Reason != canary.ReasonStorm {
		t.Errorf("100 new violations: the breaker is %s (%s)", st.State, st.Reason)
	}
	if gate := c.admitted(c.plan("a")); !gate.Closed {
		t.Errorf("a plan is let through in a storm: %+v", gate)
	}
}
