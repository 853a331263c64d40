// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A canary in one namespace", func() {
	early := map[string]string{"early": "yes"}
	state := func(g Gomega, ctx context.Context, namespace, name string) string {
		c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		g.Expect(suite.Get(ctx, c)).To(Succeed())
		return c.Data["state"]
	}

	It("that its editor deletes keeps back her namespace, and the objects of all others are fixed",
		func(ctx context.Context) {
			eve, shop := suite.Namespace(ctx, "eve"), suite.Namespace(ctx, "shop")
			suite.Create(ctx, fixture.ConfigMap(eve, "canary", fixture.Labelled("early", "yes")),
				fixture.ConfigMap(eve, "other"))
			suite.Create(ctx, fixture.ConfigMaps(shop, 3)...)
			policy := fixture.Policy(eve, eve, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
					fixture.Soak(3 * time.Second)(s)
					fixture.CanarySoak(10 * time.Second)(s)
					s.Stages = []v1alpha1.RolloutStage{
						{Name: "early", Selector: v1alpha1.TargetSelector{
							ObjectSelector: fixture.Selecting(early)}}}
				}), func(p *v1alpha1.ClusterRegoPolicy) {
					p.Spec.Match.Namespaces = append(p.Spec.Match.Namespaces, shop)
				})
			suite.CreatePolicy(ctx, policy)

			By("taking the canary away while it soaks")
			Eventually(ctx, func(g Gomega) {
				g.Expect(state(g, ctx, eve, "canary")).To(Equal("good"))
				g.Expect(client.IgnoreNotFound(suite.API.Delete(ctx, fixture.ConfigMap(eve, "canary")))).To(Succeed())
			}).WithPolling(50 * time.Millisecond).Should(Succeed())

			By("a plan for the others")
			Eventually(ctx, func(g Gomega) {
				for _, target := range fixture.ConfigMaps(shop, 3) {
					g.Expect(state(g, ctx, shop, target.GetName())).To(Equal("good"))
				}
			}).Should(Succeed())
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			plans := suite.Plans(ctx, policy.Name)
			Expect(plans).To(HaveLen(2))
			Expect(plans[0].Status.Phase).To(Equal(v1alpha1.PhaseRolledBack))
			Expect(plans[0].Status.FailedIn).To(Equal([]string{eve}))
			Expect(plans[1].Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 3, Skipped: 1}))
			for _, record := range suite.Records(ctx, &plans[1]) {
				if record.State == v1alpha1.TargetSkipped {
					Expect(record.Reason).To(Equal(v1alpha1.ReasonNamespaceFailed))
				}
			}

			By("hers are left alone, and people are told what to do")
			Expect(state(Default, ctx, eve, "other")).To(Equal("bad"))
			suite.AwaitEvent(ctx, "PlanMade", plans[1].Name, ContainSubstring("evenkeel rollout retry "+plans[0].Name))
			awaitBreaker(ctx, v1alpha1.PolicyBreakerPrefix+policy.Name,
				func(g Gomega, s v1alpha1.RemediationBreakerStatus) {
					g.Expect(s.State).To(Equal(v1alpha1.BreakerOpen))
					g.Expect(s.OnlyNamespace).To(Equal(eve))
				})
		})
})
