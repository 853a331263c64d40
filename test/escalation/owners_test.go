// SPDX-License-Identifier: Apache-2.0

package escalation_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("Objects that another tool manages", func() {
	It("are told to the policy's team with the fix as a diff, once, and until they are fixed at their source",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "managed")
			names := []string{"target-0", "target-1"}
			for _, name := range names {
				suite.Create(ctx, fixture.ConfigMap(
					namespace, name, fixture.Labelled("app.kubernetes.io/managed-by", "Helm"),
					fixture.Annotated("meta.helm.sh/release-name", "web"),
					fixture.Annotated("meta.helm.sh/release-namespace", "shop")))
			}
			policy := fixture.Policy(namespace, namespace, fixture.FixState, owner("shop"),
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			labels := map[string]string{"alertname": "EvenkeelManagedByOther", "policy": policy.Name,
				"severity": "info"}
			told := func(status string) func() []rig.Notification {
				return func() []rig.Notification { return first.inbox.Of(status, labels) }
			}
			Eventually(ctx, told("firing")).Should(HaveLen(1))
			Expect(told("firing")()[0].Receiver).To(Equal("shop"))
			Expect(told("firing")()[0].Annotations["description"]).To(And(
				ContainSubstring("- ConfigMap %s/%s: Skipped (Managed): ", namespace, names[0]),
				ContainSubstring("- ConfigMap %s/%s: Skipped (Managed): ", namespace, names[1]),
				ContainSubstring("Helm (release shop/web)"), ContainSubstring("+  state: good")))
			awaitTicks(ctx, 5)
			Expect(told("firing")()).To(HaveLen(1))
			Expect(told("resolved")()).To(BeEmpty())

			for _, name := range names {
				object := fixture.ConfigMap(namespace, name)
				rig.Update(ctx, suite.API, object, func() { object.Data["state"] = "good" })
			}
			Eventually(ctx, told("resolved")).Should(HaveLen(1))
		})
})
