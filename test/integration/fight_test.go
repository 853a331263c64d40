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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("Somebody who keeps setting an object back", func() {
	var (
		namespace string
		policy    *v1alpha1.ClusterRegoPolicy
		fought    *corev1.ConfigMap
	)
	back := client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"bad"}}`))
	// setBack sets a fixed object back, when allow lets it. The patch fails should
	// the object have been written since it was read.
	setBack := func(ctx context.Context, g Gomega, allow func()) {
		g.Expect(suite.Get(ctx, fought)).To(Succeed())
		if fought.Data["state"] == "bad" {
			return
		}
		allow()
		asRead := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"data":{"state":"bad"}}`, fought.ResourceVersion)
		g.Expect(suite.API.Patch(ctx, fought, client.RawPatch(types.MergePatchType, []byte(asRead)),
			client.FieldOwner("stubborn-controller"))).To(Succeed())
	}
	fixed := func(ctx context.Context, name string) {
		GinkgoHelper()
		object := fixture.ConfigMap(namespace, name)
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, object)).To(Succeed())
			g.Expect(object.Data).To(HaveKeyWithValue("state", "good"))
		}).Should(Succeed())
	}

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "fight")
		fought = fixture.ConfigMap(namespace, "target-0")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		policy = fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
	})

	It("before the soak has passed fails that target alone: nothing is rolled back, and the writer is named",
		func(ctx context.Context) {
			suite.UpdateStrategy(ctx, policy.Name, func(s *v1alpha1.RemediationStrategySpec) {
				for i := range s.Steps {
					s.Steps[i].Soak = &metav1.Duration{Duration: 3 * time.Second} // in which it is set back
				}
			})
			Eventually(ctx, func(g Gomega) {
				setBack(ctx, g, func() {})
				g.Expect(suite.Events(ctx, "RemediationFight", "target-0")).To(ContainElement(
					And(ContainSubstring("fixed by policy "+policy.Name), ContainSubstring("stubborn-controller"))))
			}).Should(Succeed())
			plans := suite.Plans(ctx, policy.Name)
			record := suite.RecordOf(ctx, &plans[len(plans)-1], "target-0")
			Expect(record.State).To(Equal(v1alpha1.TargetFailed))
			Expect(record.Reason).To(Equal(v1alpha1.ReasonFighting))
		})

	It("again and again after it was fixed is left alone until a person says to go on, and stops nothing else", long,
		func(ctx context.Context) {
			Eventually(ctx, func(g Gomega) {
				setBack(ctx, g, func() {
					plans := suite.Plans(ctx, policy.Name)
					g.Expect(plans[len(plans)-1].Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
				})
				g.Expect(suite.Events(ctx, "RemediationFight", "target-0")).To(ContainElement(
					And(ContainSubstring("evenkeel rollout retry "+policy.Name),
						ContainSubstring("stubborn-controller"))))
			}).WithTimeout(5 * time.Minute).Should(Succeed())

			By("drift of another object")
			other := fixture.ConfigMap(namespace, "target-1")
			Expect(suite.API.Patch(ctx, other, back)).To(Succeed())
			fixed(ctx, "target-1")
			Expect(suite.Get(ctx, fought)).To(Succeed())
			Expect(fought.Data).To(HaveKeyWithValue("state", "bad"), "the object that is fought over is left alone")

			By("a person who says to go on")
			suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			plans := suite.Plans(ctx, policy.Name)
			say(ctx, &plans[len(plans)-1], `{"retryToken":"1"}`)
			fixed(ctx, "target-0")
		})
})
