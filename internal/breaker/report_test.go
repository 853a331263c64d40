// SPDX-License-Identifier: Apache-2.0

package breaker_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/breakertest"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/recorded"
)

// counters are the values of all counters, by name and labels.
func counters(t *testing.T, from *prometheus.Registry) map[string]float64 {
	t.Helper()
	families, err := from.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			name := family.GetName()
			for _, label := range m.GetLabel() {
				name += " " + label.GetValue()
			}
			if m.GetCounter() != nil {
				got[name] = m.GetCounter().GetValue()
			}
		}
	}
	return got
}

// reset is what a person asks of the breaker of "tags".
func reset(c *breakertest.Circuit) {
	cb := c.Read("policy-tags")
	cb.Spec.ResetToken = "again"
	recorded.Requests(cb, []v1alpha1.RequestRecord{{Action: v1alpha1.ActionReset, Token: "again", User: "ada"}}...)
	c.Must(c.Kept.Update(c.Ctx, cb))
	c.Reconciled("policy-tags")
}

// succeed lets the probes of "tags" succeed, until its breaker closes.
func succeed(c *breakertest.Circuit) {
	rem := c.Plan("probe")
	for _, key := range []string{"s1", "s2"} {
		c.Admitted(rem)
		c.Must(c.Record(c.Ctx, rem, []rollout.Outcome{{Type: circuit.TargetSucceeded, Key: key, Count: 1},
			{Type: circuit.PlanSucceeded, Key: key + "/plan", Count: 1}}))
	}
}

func TestWhatIsToldOfABreaker(t *testing.T) {
	for name, tc := range map[string]struct {
		reason   string
		happens  func(c *breakertest.Circuit)
		says     []string
		silent   []string
		counters map[string]float64
	}{
		"it is new": {reason: "there is no change to tell of",
			happens: func(c *breakertest.Circuit) { c.Admitted(c.Plan("a")) },
			silent: []string{v1alpha1.EventBreakerClosed, v1alpha1.EventBreakerOpened,
				v1alpha1.EventDemotionEnded},
			counters: map[string]float64{}},
		"it opens": {reason: "it was closed",
			happens: func(c *breakertest.Circuit) { c.Admitted(c.Plan("a")); c.Opened("1") },
			says:    []string{v1alpha1.EventBreakerOpened}, silent: []string{v1alpha1.EventBreakerClosed},
			counters: map[string]float64{"evenkeel_breaker_transitions_total tags Policy Open": 1}},
		"it cools down": {reason: "it isn't closed yet", happens: func(c *breakertest.Circuit) {
			c.Opened("1")
			c.After(time.Hour)
			c.Reconciled("policy-tags")
		}, silent: []string{v1alpha1.EventBreakerClosed}},
		"it closes after probes": {reason: "nobody has reset it", happens: func(c *breakertest.Circuit) {
			c.Opened("1")
			c.After(time.Hour)
			c.Reconciled("policy-tags")
			succeed(c)
		}, says: []string{v1alpha1.EventBreakerClosed}, counters: map[string]float64{
			"evenkeel_breaker_transitions_total tags Policy Closed":   1,
			"evenkeel_breaker_transitions_total tags Policy HalfOpen": 1}},
		"a person resets it": {reason: "that is said instead",
			happens: func(c *breakertest.Circuit) { c.Opened("1"); reset(c) },
			says:    []string{v1alpha1.EventBreakerReset + " reset by"},
			silent:  []string{v1alpha1.EventBreakerClosed},
			counters: map[string]float64{"evenkeel_breaker_transitions_total tags Policy Closed": 1,
				"evenkeel_breaker_resets_total tags Policy": 1}},
		"its policy is demoted": {reason: "three openings in a day", happens: demote,
			says:   []string{v1alpha1.EventPolicyDemoted},
			silent: []string{v1alpha1.EventDemotionEnded}},
		"its policy's demotion ends": {reason: "its rule has changed", happens: func(c *breakertest.Circuit) {
			demote(c)
			c.Told()
			c.Policy("another", func(*fixture.Rollout) {})
			c.Reconciled("policy-tags")
		}, says: []string{v1alpha1.EventDemotionEnded}, silent: []string{v1alpha1.EventPolicyDemoted}},
		"a policy that is gone is demoted": {reason: "there is nobody to tell",
			silent: []string{v1alpha1.EventPolicyDemoted}, happens: func(c *breakertest.Circuit) {
				for _, in := range []string{"a", "b", "c"} {
					c.CanaryFails("gone", in)
					c.After(3 * time.Hour)
				}
			}},
	} {
		t.Run(name, func(t *testing.T) {
			c, registry := breakertest.New(t), prometheus.NewRegistry()
			c.With(func(o *breaker.Options) { o.Metrics = registry })
			tc.happens(c)
			told := c.Told()
			for _, want := range tc.says {
				if !strings.Contains(told, want) {
					t.Errorf("%s: want %q in %q", tc.reason, want, told)
				}
			}
			for _, never := range tc.silent {
				if strings.Contains(told, " "+never+" ") {
					t.Errorf("%s: don't want %q in %q", tc.reason, never, told)
				}
			}
			if got := counters(t, registry); tc.counters != nil {
				for counter := range got {
					if !strings.Contains(counter, "tags") || strings.HasSuffix(counter, "Open") &&
						tc.counters[counter] == 0 && name != "it is new" {
						delete(got, counter) // what led there
					}
				}
				if diff := cmp.Diff(tc.counters, got); diff != "" {
					t.Errorf("%s: counted (-want +got)\n%s", tc.reason, diff)
				}
			}
		})
	}
}

// A demotion is known as soon as the third opening is, without another look.
func TestADemotionIsKnownAtOnce(t *testing.T) {
	c := breakertest.New(t)
	for i, key := range []string{"1", "2", "3"} {
		c.Opened(key)
		if got := c.Read("policy-tags").Status.Demoted != nil; got != (i == 2) {
			t.Errorf("after %d openings it is demoted: %t", i+1, got)
		}
		c.After(3 * time.Hour)
	}
	c.Reconciled("policy-tags")
	if got := c.Figures("evenkeel_breaker_demoted"); got["tags"] != 1 {
		t.Errorf("shown are %v, want 1 for tags", got)
	}
	if demoted, err := c.Demoted(c.Ctx, "tags"); demoted == nil || err != nil {
		t.Errorf("got %v, %v, want its demotion", demoted, err)
	}
	if demoted, err := c.Demoted(c.Ctx, "nothing"); demoted != nil || err != nil {
		t.Errorf("got %v, %v, want nothing of a breaker that isn't there", demoted, err)
	}
	rem := c.Plan("a")
	if gate := c.Admitted(rem); gate.Reason != v1alpha1.ReasonDemoted {
		t.Errorf("a plan of the rule is let through: %+v", gate)
	}
	c.Policy("another", func(*fixture.Rollout) {})
	if gate := c.Admitted(c.Plan("b")); gate.Closed {
		t.Errorf("a plan of another rule is held: %+v", gate)
	}
}

func TestABreakerIsLabelledWithItsPolicy(t *testing.T) {
	c := breakertest.New(t)
	c.Admitted(c.Plan("a"))
	for name, want := range map[string]string{"policy-tags": "tags", "global": ""} {
		got, labelled := c.Read(name).Labels[v1alpha1.LabelPolicy]
		if got != want || labelled != (want != "") {
			t.Errorf("%s: labelled %q (%t), want %q", name, got, labelled, want)
		}
	}
}

func TestWhenABreakerIsLookedAtAgain(t *testing.T) {
	objective := &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}
	for name, tc := range map[string]struct {
		reason  string
		breaker string
		given   func(c *breakertest.Circuit)
		want    time.Duration
	}{
		"a policy's": {"violations may rise", "policy-tags",
			func(c *breakertest.Circuit) { c.Admitted(c.Plan("a")) }, breaker.DefaultStormInterval},
		"a namespace's": {"it may be gone", "namespace-shop",
			func(c *breakertest.Circuit) { open(c, breaker.NamespaceScope("shop"), "") }, 10 * time.Minute},
		"the global one": {"nothing comes by itself", "global",
			func(c *breakertest.Circuit) { c.Admitted(c.Plan("a")) }, 0},
		"one that turns soon": {"its cooldown ends", "policy-tags",
			func(c *breakertest.Circuit) { c.Opened("1"); c.After(30*time.Minute - 3*time.Second) }, 3 * time.Second},
		"the global one with an objective": {"it is asked again", "global", func(c *breakertest.Circuit) {
			c.Answers.Answers["burn"] = 0
			c.With(func(o *breaker.Options) { o.SLO, o.Metrics = objective, prometheus.NewRegistry() })
			c.Admitted(c.Plan("a"))
		}, circuit.DefaultSLOInterval},
	} {
		c := breakertest.New(t).In("shop")
		tc.given(c)
		got, err := c.Control.Reconcile(c.Ctx, ctrl.Request{NamespacedName: client.ObjectKey{Name: tc.breaker}})
		if err != nil || got.RequeueAfter != tc.want {
			t.Errorf("%s: %s: after %s (%v), want %s", name, tc.reason, got.RequeueAfter, err, tc.want)
		}
	}
}

// Another number of violations is kept now and then only, and at once when a clock went back.
func TestHowOftenANumberOfViolationsIsKept(t *testing.T) {
	for after, want := range map[time.Duration]int32{0: 7, 5 * time.Second: 7, breaker.DefaultStormInterval: 8,
		-time.Second: 8} {
		c := breakertest.New(t)
		c.Scan.Objects = 7
		c.Admitted(c.Plan("a"))
		c.Scan.Objects = 8
		c.After(after)
		if got := c.Reconciled("policy-tags").Status.Storm.Violating; got != want {
			t.Errorf("after %s: %d are kept, want %d", after, got, want)
		}
	}
}

func TestAnObjectiveThatIsGoneIsForgotten(t *testing.T) {
	c := breakertest.New(t)
	c.Answers.Answers["burn"] = 0.001
	c.Policy("missing", func(s *fixture.Rollout) {
		s.Breaker.SLO = &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}
	})
	if c.Admitted(c.Plan("a")); c.Read("policy-tags").Status.SLO == nil {
		t.Fatal("its answer isn't kept")
	}
	c.Policy("missing", func(*fixture.Rollout) {})
	if st := c.Reconciled("policy-tags").Status; st.SLO != nil {
		t.Errorf("its answer is still %+v", st.SLO)
	}
}

// An outcome in two namespaces reaches both, and the third open policy's breaker opens the global one.
func TestAnOutcomeReachesEveryBreaker(t *testing.T) {
	c := breakertest.New(t).In("shop", "bank")
	open(c, breaker.PolicyScope("p0"), "")
	open(c, breaker.PolicyScope("p1"), "")
	c.Must(c.Record(c.Ctx, c.Plan("a"), []rollout.Outcome{
		{Type: circuit.CanaryFailed, Key: "f", Count: 2, Namespaces: map[string]int32{"bank": 1, "shop": 1}}}))
	for _, name := range []string{"policy-tags", "global"} {
		if cb := c.Read(name); cb == nil || cb.Status.State != v1alpha1.BreakerOpen {
			t.Errorf("%s isn't open", name)
		}
	}
	for _, name := range []string{"namespace-bank", "namespace-shop"} {
		if cb := c.Read(name); cb == nil || cb.Status.Failures != 1 {
			t.Errorf("%s hasn't counted it", name)
		}
	}
}

// bounded answers a query as long as it may, and notes whether there is an end to that.
type bounded struct{ ends bool }

func (b *bounded) Sample(ctx context.Context, _ string) (float64, error) {
	_, b.ends = ctx.Deadline()
	return 0, ctx.Err()
}

func TestAnObjectiveIsAskedForSomeTime(t *testing.T) {
	c, analyzer := breakertest.New(t), &bounded{}
	c.Policy("missing", func(s *fixture.Rollout) {
		s.Breaker.SLO = &v1alpha1.SLOStrategy{Query: "burn", Objective: "99.9"}
	})
	c.With(func(o *breaker.Options) { o.Analyzer, o.Metrics = analyzer, prometheus.NewRegistry() })
	if gate := c.Admitted(c.Plan("a")); gate.Closed || !analyzer.ends {
		t.Errorf("got %+v, asked with an end: %t; want an answer within a time", gate, analyzer.ends)
	}
}

// What is stored of an open breaker names the command that resets it, ready to be copied.
func TestWhatIsStoredNamesTheBreaker(t *testing.T) {
	c := breakertest.New(t)
	c.Opened("k")
	if got := c.Read("policy-tags").Status.Message; !strings.Contains(
		got, "evenkeel breaker reset policy-tags --reason") {
		t.Errorf("got %s", got)
	}
}
