// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The team whose object was changed", func() {
	It("learns within a minute who changed what and why, and keeps it from happening again",
		SpecTimeout(3*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "team")
			suite.Create(ctx, fixture.Deployment(namespace, "web"))
			policy := fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("team", "shop"),
				fixture.Kinds("", "Pod"), fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)

			jane := enters("jane")
			jane.may(ctx, "edit", namespace)
			asked := time.Now()
			jane.repeats(ctx, "kubectl get events -n "+namespace+" --field-selector reason=Remediated",
				"changed by policy "+policy.Name+" (plan "+rem.Name+")")
			jane.succeeds(ctx, "kubectl get events -n "+namespace+" --field-selector reason=Remediated",
				"/spec/template/metadata/labels/team", "shop", "To opt out: kubectl annotate deployment",
				"evenkeel.dev/remediation=paused", policy.Spec.Owner, policy.Spec.RunbookURL)
			jane.succeeds(ctx, "evenkeel explain deployment/web -n "+namespace,
				"Events", "changed by policy "+policy.Name+" (plan "+rem.Name+")",
				"/spec/template/metadata/labels/team", "evenkeel.dev/remediation=paused",
				"not known: they couldn't be read")
			Expect(time.Since(asked)).To(BeNumerically("<", time.Minute), "who, what, why and how to opt out")

			By("having been given the role evenkeel-viewer")
			jane.may(ctx, "evenkeel-viewer", "")
			jane.repeats(ctx, "evenkeel explain deployment/web -n "+namespace, "evenkeel rollout undo "+rem.Name)

			By("mistyping the opt-out, and being told")
			jane.succeeds(ctx, "kubectl annotate deployment web -n "+namespace+" evenkeel.dev/remediation=disabled",
				"Warning", `must be "paused"`)
			jane.repeats(ctx, "evenkeel explain deployment/web -n "+namespace, `must be "paused"`)
			jane.succeeds(ctx, "kubectl annotate deployment web -n "+namespace+
				" evenkeel.dev/remediation=paused --overwrite")

			By("having it the old way again, which stays")
			jane.succeeds(ctx, "kubectl patch deployment web -n "+namespace+
				` --type=json -p '[{"op":"remove","path":"/spec/template/metadata/labels/team"}]'`)
			jane.repeats(ctx, "evenkeel explain deployment/web -n "+namespace, "opted out: the object has")
			Consistently(ctx, func(g Gomega) {
				web := &appsv1.Deployment{}
				web.Namespace, web.Name = namespace, "web"
				g.Expect(suite.Get(ctx, web)).To(Succeed())
				g.Expect(web.Spec.Template.Labels).NotTo(HaveKey("team"))
			}).WithTimeout(3 * time.Second).Should(Succeed())
		})
})
