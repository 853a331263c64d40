// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

func at(schedule string) []v1alpha1.PlannedWindow {
	return []v1alpha1.PlannedWindow{{Schedule: schedule, TimeZone: "UTC",
		Duration: metav1.Duration{Duration: time.Hour}}}
}

func asked(schedule string) []v1alpha1.MaintenanceWindow {
	return []v1alpha1.MaintenanceWindow{v1alpha1.MaintenanceWindow(at(schedule)[0])}
}

// madeWith is a plan at work, of policy "labels" and strategy "careful", with the windows
// that it was made with.
func madeWith(name, schedule string, change ...func(*v1alpha1.Remediation)) v1alpha1.Remediation {
	var r v1alpha1.Remediation
	r.Name, r.Status.Phase = name, v1alpha1.PhaseHeld
	r.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "labels", UID: "p1"}
	r.Spec.Plan.StrategyRef = &v1alpha1.PlannedStrategy{Name: "careful", UID: "s1"}
	r.Spec.Plan.Rollout.Windows = at(schedule)
	for _, c := range change {
		c(&r)
	}
	return r
}

// changes is an update of an object's spec.
func changes(kind, name, uid string, old, now map[string]any) *policy.Request {
	object := func(spec map[string]any) map[string]any {
		return map[string]any{"kind": kind, "metadata": map[string]any{"name": name, "uid": uid}, "spec": spec}
	}
	return &policy.Request{Operation: policy.Update, Name: name, Object: object(now), OldObject: object(old)}
}

func windows(schedule string) map[string]any {
	return map[string]any{"windows": []any{map[string]any{"schedule": schedule, "duration": "1h"}}}
}

// Whoever changes windows learns what becomes of the plans at work, and is told nothing
// where nothing becomes of any.
func TestAChangeOfWindowsTellsOfThePlansAtWork(t *testing.T) {
	ended := func(r *v1alpha1.Remediation) { r.Status.Phase = v1alpha1.PhaseSucceeded }
	others := func(r *v1alpha1.Remediation) {
		r.Spec.Plan.Policy.Name, r.Spec.Plan.StrategyRef = "images", nil
	}
	earlier := func(r *v1alpha1.Remediation) { // of a policy and a strategy that were made anew since
		r.Spec.Plan.Policy.UID, r.Spec.Plan.StrategyRef.UID = "p0", "s0"
	}
	one := func(schedule string, change ...func(*v1alpha1.Remediation)) []v1alpha1.Remediation {
		return []v1alpha1.Remediation{madeWith("a", schedule, change...)}
	}
	for name, tc := range map[string]struct {
		plans   []v1alpha1.Remediation
		now     string
		create  bool
		wants   []string
		nothing bool
	}{
		"a plan at work": {plans: []v1alpha1.Remediation{madeWith("labels-1", "0 1 * * *")}, now: "0 2 * * *",
			wants: []string{"1 plan in progress keeps the windows", "(labels-1)"}},
		"several": {plans: []v1alpha1.Remediation{madeWith("c", "0 1 * * *"), madeWith("a", "0 1 * * *"),
			madeWith("b", "0 1 * * *")}, now: "0 2 * * *", wants: []string{"3 plans in progress keep the windows",
			"(a, b and 1 more)", "evenkeel rollout pause|abort"}},
		"one that has them already": {plans: one("0 2 * * *"), now: "0 2 * * *",
			nothing: true},
		"windows that stay":         {plans: one("0 3 * * *"), now: "0 1 * * *", nothing: true},
		"a plan that has ended":     {plans: one("0 1 * * *", ended), now: "0 2 * * *", nothing: true},
		"another's plan":            {plans: one("0 1 * * *", others), now: "0 2 * * *", nothing: true},
		"a plan of an earlier one":  {plans: one("0 1 * * *", earlier), now: "0 2 * * *", nothing: true},
		"none is known":             {now: "0 2 * * *", nothing: true},
		"what is made has none yet": {plans: one("0 1 * * *"), now: "0 2 * * *", create: true, nothing: true},
		"names of the longest length": {plans: []v1alpha1.Remediation{madeWith(strings.Repeat("x", 253), "0 1 * * *")},
			now: "0 2 * * *", wants: []string{"1 plan in progress", "to stop one: "}},
	} {
		t.Run(name, func(t *testing.T) {
			plans := func(context.Context) []v1alpha1.Remediation { return tc.plans }
			was, now := windows("0 1 * * *"), windows(tc.now)
			naming := func(name string) map[string]any {
				return map[string]any{"remediation": map[string]any{"strategyRef": map[string]any{"name": name}}}
			}
			byPolicy := changes("ClusterRegoPolicy", "labels", "p1", naming("was"), naming("now"))
			named := func(name string) *v1alpha1.RemediationStrategy {
				s := &v1alpha1.RemediationStrategy{}
				s.Name, s.Spec.Windows = name, asked(map[string]string{"was": "0 1 * * *", "now": tc.now}[name])
				return s
			}
			byStrategy := changes("RemediationStrategy", "careful", "s1", was, now)
			if tc.create {
				byPolicy.Operation, byStrategy.Operation = policy.Create, policy.Create
			}
			p, s := &v1alpha1.ClusterRegoPolicy{}, &v1alpha1.RemediationStrategy{}
			p.Name, p.UID, p.Spec.Remediation.StrategyRef = "labels", "p1", &v1alpha1.StrategyReference{Name: "now"}
			s.Name, s.UID, s.Spec.Windows = "careful", types.UID("s1"), asked(tc.now)
			for who, got := range map[string][]string{
				"policy":   (&PolicyHandler{Plans: plans, Strategy: named}).keptWindows(t.Context(), byPolicy, p),
				"strategy": (&StrategyHandler{Plans: plans}).keptWindows(t.Context(), byStrategy, s),
			} {
				text := strings.Join(got, "\n")
				tooLong := func(w string) bool { return len(w) > serving.MaxWarningBytes }
				if (text == "") != tc.nothing || slices.ContainsFunc(got, tooLong) {
					t.Errorf("%s: warned %q", who, text)
				}
				for _, want := range tc.wants {
					if !strings.Contains(text, want) {
						t.Errorf("%s: warned %q, want %q", who, text, want)
					}
				}
			}
		})
	}
}

// A policy's windows may change by the strategy that it names, and aren't told of one that isn't there.
func TestAPolicyThatNamesAnotherStrategyTellsOfItsPlans(t *testing.T) {
	known := map[string]*v1alpha1.RemediationStrategy{}
	for name, schedule := range map[string]string{"careful": "0 1 * * *", "bold": "0 2 * * *"} {
		s := &v1alpha1.RemediationStrategy{}
		s.Name, s.Spec.Windows = name, asked(schedule)
		known[name] = s
	}
	h := &PolicyHandler{Strategy: func(name string) *v1alpha1.RemediationStrategy { return known[name] },
		Plans: func(context.Context) []v1alpha1.Remediation {
			return []v1alpha1.Remediation{madeWith("labels-1", "0 1 * * *")}
		}}
	for name, warned := range map[string]bool{"bold": true, "careful": false, "unknown": false} {
		naming := func(name string) map[string]any {
			return map[string]any{"remediation": map[string]any{"strategyRef": map[string]any{"name": name}}}
		}
		p := &v1alpha1.ClusterRegoPolicy{}
		p.Name, p.UID, p.Spec.Remediation.StrategyRef = "labels", "p1", &v1alpha1.StrategyReference{Name: name}
		req := changes("ClusterRegoPolicy", "labels", "p1", naming("careful"), naming(name))
		if got := h.keptWindows(t.Context(), req, p); (len(got) > 0) != warned {
			t.Errorf("to %s: warned %q", name, got)
		}
	}
}
