// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// sharing is a policy that refers to a strategy, and that strategy.
func sharing() (*v1alpha1.ClusterRegoPolicy, *v1alpha1.RemediationStrategy) {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "p"}, Spec: v1alpha1.RegoPolicySpec{
		Rego: v1alpha1.RegoSource{Main: "package p\n\ndeny contains \"x\" if false\n"},
		Match: v1alpha1.Match{
			Resources: []v1alpha1.ResourceMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}},
	}}
	p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
	p.Spec.Remediation.StrategyRef = &v1alpha1.StrategyReference{Name: "careful"}
	s := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: "careful", UID: "one", Generation: 2,
		Annotations: map[string]string{
			v1alpha1.AnnotationAuthor: "sue", v1alpha1.AnnotationAuthors: `{"users":["ann","sue"],"generation":2}`}},
		Spec: v1alpha1.RemediationStrategySpec{MaxInFlight: 1, Soak: &metav1.Duration{Duration: time.Hour}}}
	return p, s
}

// TestAPlanIsMadeByTheStrategyAsItIsNow: the reader sees an edit that no cache has seen yet.
func TestAPlanIsMadeByTheStrategyAsItIsNow(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	p, s := sharing()
	server := fake.NewClientBuilder().WithScheme(scheme).WithObjects(s).Build()
	planner := &Planner{drafter: drafter{reader: server}}
	d, why, err := planner.begin(t.Context(), p)
	if why != "" || err != nil {
		t.Fatalf("%q, %v", why, err)
	}
	if got := d.strategy; got.MaxInFlight != 1 || got.EffectiveSoak() != time.Hour ||
		got.Mode != v1alpha1.RemediationAutomatic || len(got.Waves) != 3 {
		t.Errorf("the draft's strategy is %+v", got)
	}
	by := plannedStrategy(d.named)
	if by.UID != "one" || by.Generation != 2 || by.Author != "sue" || strings.Join(by.Authors, " ") != "ann sue" {
		t.Errorf("the plan holds %+v", by)
	}
	if p.Spec.Remediation.MaxInFlight != 0 {
		t.Error("the cached policy was changed")
	}
	if err := server.Delete(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if _, why, err := planner.begin(t.Context(), p); err != nil ||
		!strings.Contains(why, `there is no RemediationStrategy "careful"`) {
		t.Errorf("without the strategy: %q, %v", why, err)
	}
}

func TestAPlanWithoutItsStrategyBeginsNothing(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(*catalog.Catalog, *v1alpha1.ClusterRegoPolicy, *v1alpha1.RemediationStrategy) error
		want   string
	}{
		"the strategy is as it was": {want: ""},
		"it was edited": {
			reason: "a plan is a snapshot",
			change: func(c *catalog.Catalog, _ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) error {
				s.Generation, s.Spec.MaxInFlight = 3, 9
				return c.SetStrategy(s)
			}},
		"it was deleted": {
			change: func(c *catalog.Catalog, _ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) error {
				return c.DeleteStrategy(s.Name)
			}, want: v1alpha1.ReasonStrategyNotFound},
		"it was made anew before anybody looked": {
			change: func(c *catalog.Catalog, _ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) error {
				s.UID = "two"
				return c.SetStrategy(s)
			}, want: v1alpha1.ReasonStrategyNotFound},
		"the policy says itself by now, and the strategy is there": {
			reason: "as with an edit of a policy's own strategy",
			change: func(c *catalog.Catalog, p *v1alpha1.ClusterRegoPolicy, _ *v1alpha1.RemediationStrategy) error {
				p.Spec.Remediation.StrategyRef = nil
				return c.Set(p)
			}},
		"the policy refers to another by now, which isn't there": {
			change: func(c *catalog.Catalog, p *v1alpha1.ClusterRegoPolicy, _ *v1alpha1.RemediationStrategy) error {
				p.Spec.Remediation.StrategyRef.Name = "elsewhere"
				return c.Set(p)
			}, want: v1alpha1.ReasonStrategyNotFound},
		"what is stored can't be followed": {
			change: func(c *catalog.Catalog, _ *v1alpha1.ClusterRegoPolicy, s *v1alpha1.RemediationStrategy) error {
				s.Annotations = map[string]string{v1alpha1.AnnotationMalformed: "soak: 1 day"}
				return c.SetStrategy(s)
			}, want: v1alpha1.ReasonStrategyInvalid},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p, s := sharing()
			c := catalog.New(catalog.Options{})
			if err := c.SetStrategy(s); err != nil {
				t.Fatal(err)
			}
			if err := c.Set(p); err != nil {
				t.Fatal(err)
			}
			rem := &v1alpha1.Remediation{Spec: v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{
				Policy: v1alpha1.PlannedPolicy{Name: "p", UID: "p"}, StrategyRef: plannedStrategy(s)}}}
			if tc.change != nil {
				if err := tc.change(c, p.DeepCopy(), s.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			if reason, message := strategyGone(rem, c.Snapshot()); reason != tc.want ||
				(message == "") != (tc.want == "") {
				t.Errorf("%s: %q (%s), want %q", tc.reason, reason, message, tc.want)
			}
		})
	}
}
