// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The editor of one namespace", func() {
	It("who deletes each object as soon as it is fixed opens her own breakers, and holds no other policy",
		func(ctx context.Context) {
			eve, shop := suite.Namespace(ctx, "eve"), suite.Namespace(ctx, "shop")
			breaker := func(name string) *v1alpha1.RemediationBreaker {
				cb := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}}
				Expect(client.IgnoreNotFound(suite.Get(ctx, cb))).To(Succeed())
				return cb
			}
			for i := range 3 {
				key := fmt.Sprintf("eve-%d", i)
				suite.Create(ctx, fixture.ConfigMap(eve, key, fixture.Labelled("only", key)))
				policy := fixture.Policy(fmt.Sprintf("%s-%d", eve, i), eve, fixture.FixState,
					fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
						fixture.Soak(time.Minute)(s)
					}), func(p *v1alpha1.ClusterRegoPolicy) {
						p.Spec.Match.ObjectSelector = fixture.Selecting(map[string]string{"only": key})
					})
				suite.CreatePolicy(ctx, policy)
				Eventually(ctx, func(g Gomega) {
					c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: eve, Name: key}}
					g.Expect(suite.Get(ctx, c)).To(Succeed())
					g.Expect(c.Data).To(HaveKeyWithValue("state", "good"))
					g.Expect(suite.API.Delete(ctx, c)).To(Succeed())
				}).Should(Succeed())
				suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
				Expect(breaker(v1alpha1.PolicyBreakerPrefix + policy.Name).Status.State).To(Equal(v1alpha1.BreakerOpen))
			}
			Expect(breaker(v1alpha1.GlobalBreakerName).Status.State).To(Equal(v1alpha1.BreakerClosed), "%s",
				breaker(v1alpha1.GlobalBreakerName).Status.Message)
			Eventually(ctx, func() v1alpha1.BreakerState {
				return breaker(v1alpha1.NamespaceBreakerPrefix + eve).Status.State
			}).Should(Equal(v1alpha1.BreakerOpen))

			By("a policy of another namespace, which goes on")
			suite.Create(ctx, fixture.ConfigMap(shop, "other"))
			other := fixture.Policy(shop, shop, fixture.FixState, fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, other)
			suite.AwaitPhase(ctx, other.Name, v1alpha1.PhaseSucceeded)
		})
})
