// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A fix whose objects then vanish", func() {
	soaked := fixture.Soak(20 * time.Second)
	objects := func(ctx context.Context, namespace string) []corev1.ConfigMap {
		GinkgoHelper()
		list := &corev1.ConfigMapList{}
		Expect(suite.API.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(fixture.TargetLabels()))).
			To(Succeed())
		return list.Items
	}
	// failed expects a plan that lost its canary, and wrote nothing else.
	failed := func(ctx context.Context, policy string, targets int32) {
		GinkgoHelper()
		rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseRolledBack)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonVerificationFailed))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Failed: 1, Skipped: targets - 1}))
		for _, record := range suite.Records(ctx, rem) {
			if record.State == v1alpha1.TargetFailed {
				Expect(record.Reason).To(Equal(v1alpha1.ReasonVanished))
			}
		}
		awaitBreaker(ctx, v1alpha1.PolicyBreakerPrefix+policy, func(g Gomega, s v1alpha1.RemediationBreakerStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.BreakerOpen))
		})
		suite.AwaitEvent(ctx, "RemediationNotPlanned", policy, ContainSubstring("fix the policy"))
		Expect(suite.Plans(ctx, policy)).To(HaveLen(1))
	}

	It("collected by the garbage collector for an owner that isn't there, fails at its canary and opens the breaker",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "vanish")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 6)...)
			policy := fixture.Policy(namespace, namespace, fixture.Fix(`[{"op": "replace", "path": "/data/state", "value": "good"},
			{"op": "add", "path": "/metadata/ownerReferences", "value": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody", "uid": "3b2b5a3c-0000-4000-8000-000000000000"}]}]`),
				fixture.Remediated(v1alpha1.RemediationAutomatic, soaked))
			suite.CreatePolicy(ctx, policy)
			failed(ctx, policy.Name, 6)
			Expect(objects(ctx, namespace)).To(HaveLen(5))
			Expect(patchedObjects(namespace)).To(HaveLen(1))
		})

	It("made again by an operator for each edit, fails at its canary and opens the breaker", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "vanish")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 4)...)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, soaked))
		suite.CreatePolicy(ctx, policy)
		Eventually(ctx, func(g Gomega) {
			for _, c := range objects(ctx, namespace) {
				if c.Data["state"] == "good" {
					g.Expect(suite.API.Delete(ctx, &c)).To(Succeed())
					suite.Create(ctx, fixture.ConfigMap(namespace, c.Name))
				}
			}
			plans := suite.Plans(ctx, policy.Name)
			g.Expect(plans).NotTo(BeEmpty())
			g.Expect(plans[0].Status.Phase.Final()).To(BeTrue())
		}).Should(Succeed())
		failed(ctx, policy.Name, 4)
		Expect(patchedObjects(namespace)).To(HaveLen(1))
	})
})
