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
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
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
				"unavailable: they couldn't be read")
			Expect(time.Since(asked)).To(BeNumerically("<", time.Minute), "who, what, why and how to opt out")

			By("having been given the role evenkeel-viewer")
			jane.may(ctx, "evenkeel-viewer", "")
			jane.repeats(ctx, "evenkeel explain deployment/web -n "+namespace, "evenkeel rollout undo "+rem.Name)
			jane.succeeds(ctx, "evenkeel explain deployment/web -n "+namespace, "because: "+policy.Spec.Title)

			By("mistyping the opt-out, and being told")
			jane.succeeds(ctx, "kubectl annotate deployment web -n "+namespace+" evenkeel.dev/remediation=disabled",
				"Warning", `must be "paused"`)
			jane.repeats(ctx, "evenkeel explain deployment/web -n "+namespace, `must be "paused"`)
			jane.succeeds(ctx, "kubectl annotate deployment web -n "+namespace+
				" evenkeel.dev/remediation=paused --overwrite")

			By("mistyping it where no policy is")
			jane.succeeds(ctx, "kubectl create configmap notes -n "+namespace)
			jane.succeeds(ctx, "kubectl annotate configmap notes -n "+namespace+" evenkeel.dev/remediaton=paused",
				"Warning", "did you mean the annotation evenkeel.dev/remediation?")
			jane.succeeds(ctx, "evenkeel explain configmap/notes -n "+namespace,
				"not opted out: Evenkeel knows no annotation evenkeel.dev/remediaton",
				"kubectl annotate configmap notes evenkeel.dev/remediation=paused -n "+namespace)

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

	It("has it undone by whoever is on call, who sees before what that would do, and learns that it stays undone",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "undone")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			jane := enters("jane")
			jane.may(ctx, "edit", namespace)
			jane.may(ctx, "evenkeel-viewer", "")
			explain := "evenkeel explain configmap/target-0 -n " + namespace
			jane.repeats(ctx, explain, "to undo all that plan "+rem.Name+" changed: evenkeel rollout undo "+rem.Name)
			jane.ends(ctx, 3, "evenkeel rollout undo "+rem.Name, `User "jane" cannot patch resource "remediations"`,
				"ask for that permission: ClusterRole evenkeel-operator grants it")

			dana := enters("dana")
			dana.may(ctx, "evenkeel-operator", "")
			dana.succeeds(ctx, "evenkeel rollout undo "+rem.Name+" --dry-run", "2 of 2 targets would be undone, "+
				"but for fields that somebody else has changed since")
			dana.succeeds(ctx, "evenkeel rollout undo "+rem.Name+" --reason 'shop asked'",
				"remediation "+rem.Name+" is being undone by dana: 2 of 2 targets; watch: evenkeel rollout get")
			told := jane.repeats(ctx, explain, "nothing until the policy changes or somebody says: evenkeel rollout "+
				"retry "+rem.Name+" (plan "+rem.Name+" was undone: 2 writes undone")
			Expect(told).To(And(ContainSubstring(", undone at "), ContainSubstring("shop asked"),
				ContainSubstring("state must be good")))
			jane.repeats(ctx, "kubectl get events -n "+namespace+" --field-selector reason=RemediationReverted",
				"Because: undone by dana: shop asked")
			Expect(dana.succeeds(ctx, "evenkeel rollout history "+policy.Name)).To(
				MatchRegexp(rem.Name + ` .* Undo +dana +shop asked\n`))
		})
})
