// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// The manager is killed here, so it is one of its own.
var _ = Describe("The doctor of a manager that has stopped", Ordered, func() {
	It("says of nothing that it is well which nobody keeps up to date any more, until one is at work again",
		func(ctx context.Context) {
			suite.AwaitAdmission(ctx)
			namespace := suite.Namespace(ctx, "reported")
			suite.Create(ctx, fixture.ConfigMap(namespace, "one")) // before the policy that refuses it
			source := suite.NewSource(ctx, namespace, rig.PolicyFiles(namespace, namespace, "bad"))
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)
			fix := namespace + "-fix"
			suite.CreatePolicy(ctx, fixture.Policy(fix, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic)))
			suite.AwaitPhase(ctx, fix, v1alpha1.PhaseSucceeded)
			reported := map[string]string{"policies": "in force", "sources": "read, least lately",
				"scan": "are complete", "breakers": "closed", "rollouts": "waits for a person"}
			well := func(g Gomega, ctx context.Context) {
				suite.RemoveStrayPlans(ctx)
				found, _ := doctor(ctx)
				for check, says := range reported {
					g.Expect(found).To(ContainElement(finds(check, "ok", says)), check)
				}
			}
			Eventually(well).WithContext(ctx).Should(Succeed())

			Expect(manager.Kill()).To(Succeed())
			DeferCleanup(func(ctx context.Context) {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
				Eventually(well).WithContext(ctx).Should(Succeed())
			})
			found, code := doctor(ctx)
			Expect(code).To(Equal(1))
			for check, says := range reported {
				Expect(found).To(ContainElement(And(finds(check, "warn", "last reported: "), finds(check, "warn", says),
					finds(check, "warn", "but no manager is running"))), check)
				Expect(found).NotTo(ContainElement(finds(check, "ok", "")), check)
			}
		})
})
