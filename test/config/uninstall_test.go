// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("An install that is removed in the worst order", func() {
	It("doesn't block the cluster: its webhook goes with it, though no manager is left to take it away",
		func(ctx context.Context) {
			install := overlay{base: "self-signed"}
			// As plainly as can be: no server-side apply.
			kubectl(ctx, "apply", "-k", install.folder())
			DeferCleanup(func(ctx context.Context) { install.uninstall(ctx) })
			DeferCleanup(letGo)
			kubectl(ctx, "create", "namespace", "shop")
			DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "namespace", "shop", "--wait=false") })
			Expect(plane.AwaitKinds(ctx)).To(Succeed())
			server := startManager(ctx)
			policy := labelPolicy(v1alpha1.RemediationDisabled)
			policy.Spec.Match.Namespaces = []string{"shop"}
			createPolicy(ctx, policy)
			try := func() error { return api.Create(ctx, fixture.Deployment("shop", "new"), client.DryRunAll) }
			Eventually(ctx, try).Should(MatchError(ContainSubstring("label team is missing")))

			Expect(server.Kill()).To(Succeed())
			Expect(try()).To(MatchError(ContainSubstring("failed calling webhook")),
				"with failurePolicy Fail nothing passes while no manager answers")

			install.uninstall(ctx)
			Eventually(ctx, try).Should(Succeed())
			expectNothingLeft(ctx)
		})
})
