// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"testing"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/test/fixtest"
)

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
				most := intstr.FromInt32(9)
				s.Generation, s.Spec.MaxInFlight = 3, &most
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
			p, s := fixtest.Sharing()
			c := catalog.New(catalog.Options{})
			if err := c.SetStrategy(s); err != nil {
				t.Fatal(err)
			}
			if err := c.Set(p); err != nil {
				t.Fatal(err)
			}
			rem := &v1alpha1.Remediation{Spec: v1alpha1.RemediationSpec{Plan: v1alpha1.RemediationPlan{
				Policy:      v1alpha1.PlannedPolicy{Name: "p", UID: "p"},
				StrategyRef: &v1alpha1.PlannedStrategy{Name: s.Name, UID: string(s.UID)}}}}
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
