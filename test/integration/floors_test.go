// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// restartWith starts the manager anew with further flags, for the rest of the spec.
func restartWith(ctx context.Context, flags ...string) {
	GinkgoHelper()
	if manager.Running() {
		Expect(manager.Stop()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			Expect(manager.Start(ctx)).To(Succeed())
			suite.AwaitAdmission(ctx)
		})
	}
	suite.StartManager(ctx, flags...)
}

var _ = Describe("What the administrator asks of every remediation", func() {
	var (
		namespace, policy string
		ann, bob          client.Client
	)
	// fixed are the targets that hold what the fix makes of them.
	fixed := func(ctx context.Context) int {
		list := &corev1.ConfigMapList{}
		Expect(suite.API.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels(fixture.TargetLabels()))).
			To(Succeed())
		return len(slices.DeleteFunc(list.Items, func(c corev1.ConfigMap) bool { return c.Data["state"] != "good" }))
	}

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "floors")
		policy = namespace
		ann, bob = userWith(ctx, "ann", editors(ctx)), userWith(ctx, "bob", "evenkeel-approver")
		userWith(ctx, "ann", "evenkeel-approver")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 5)...)
		suite.CleanUp(policy)
	})

	It("is lowered by no policy: its plan waits for somebody else, and goes in narrow waves that soak",
		func(ctx context.Context) {
			restartWith(ctx, "--remediation-max-mode=Manual", "--remediation-require-distinct-approver",
				"--remediation-max-wave=2",
				"--remediation-max-in-flight=1", "--remediation-min-soak=1s", "--remediation-max-total-in-flight=1")
			automatic := fixture.Policy(policy, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))

			By("warning whoever asks for more")
			api, warned := warningClient()
			suite.Create(ctx, fixture.StrategyOf(automatic))
			Eventually(ctx, func(g Gomega) { // the catalog hears of the strategy soon
				g.Expect(api.Create(ctx, automatic.DeepCopy(), client.DryRunAll)).To(Succeed())
				g.Expect(warned()).NotTo(ContainElement(ContainSubstring("there is no RemediationStrategy")))
			}).Should(Succeed())
			Expect(api.Create(ctx, automatic.DeepCopy(), client.DryRunAll)).To(Succeed())
			Expect(warned()).To(ContainElements(
				"spec.remediation.mode: the policy asks for Automatic, the administrator allows Manual "+
					"(--remediation-max-mode)",
				"spec.remediation.strategyRef: soak: the policy asks for 100ms, the administrator allows 1s "+
					"(--remediation-min-soak)",
				"spec.remediation.strategyRef: maxInFlight: the policy asks for 10, the administrator allows 1 "+
					"(--remediation-max-in-flight)"))

			By("freezing what is allowed, and saying what was asked for")
			Expect(ann.Create(ctx, automatic)).To(Succeed())
			rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			Expect(rem.Spec.Plan.Rollout.Mode).To(Equal(v1alpha1.RemediationManual))
			Expect(rem.Spec.Plan.Rollout.MaxInFlight).To(BeEquivalentTo(1))
			Expect(rem.Spec.Plan.Waves[0].Soak.Duration).To(Equal(time.Second))
			Expect(rem.Spec.Plan.Rollout.MaxTotalInFlight).To(BeEquivalentTo(1))
			Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 2, 2}))
			Expect(rem.Spec.Plan.Limits).To(ContainElements(
				v1alpha1.AppliedLimit{Field: "mode", Asked: "Automatic", Allowed: "Manual",
					Flag: "--remediation-max-mode"},
				v1alpha1.AppliedLimit{Field: "steps", Asked: "4 in one wave", Allowed: "2",
					Flag: "--remediation-max-wave"}))
			suite.AwaitEvent(ctx, "PlanMade", rem.Name,
				ContainSubstring("mode: the policy asks for Automatic, the administrator allows Manual"))

			By("refusing the author, though the policy doesn't")
			Expect(approve(ctx, ann, rem)).To(
				MatchError(ContainSubstring("the cluster's administrator requires that somebody else approves")))
			Expect(fixed(ctx)).To(BeZero())

			By("going on once another has approved")
			Expect(approve(ctx, bob, rem)).To(Succeed())
			rem = suite.AwaitPhase(ctx, policy, v1alpha1.PhaseSucceeded)
			Expect(fixed(ctx)).To(Equal(5))
			Expect(rem.Status.CompletionTime.Sub(rem.Status.Approval.DecisionTime.Time)).To(
				BeNumerically(">=", 3*time.Second), "three waves soak for a second each")
		})

	It("is lowered by no source, whose plans nobody approves until its repository is said to be reviewed",
		func(ctx context.Context) {
			flags := []string{"--remediation-max-mode=Manual", "--remediation-require-distinct-approver"}
			restartWith(ctx, flags...)
			source := suite.NewSource(ctx, namespace, rig.Files(rig.PolicyFiles(policy, namespace, "bad")),
				func(src *v1alpha1.PolicySource) {
					src.Spec.Overrides = []v1alpha1.SourceOverride{{RemediationMode: v1alpha1.RemediationAutomatic}}
				})
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)
			Expect(suite.Policy(ctx, policy).Spec.Remediation.Mode).To(Equal(v1alpha1.RemediationAutomatic))
			rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			Expect(rem.Spec.Plan.Rollout.Mode).To(Equal(v1alpha1.RemediationManual))
			for _, anybody := range []client.Client{ann, bob} {
				Expect(approve(ctx, anybody, rem)).To(
					MatchError(ContainSubstring("who has written it only the repository knows")))
			}

			By("refusing them also once somebody has taken the source's label off")
			editAs(ctx, ann, policy, func(p *v1alpha1.ClusterRegoPolicy) { delete(p.Labels, v1alpha1.LabelSourceName) })
			Expect(approve(ctx, bob, rem)).To(
				MatchError(ContainSubstring("who has written it only the repository knows")))
			Expect(fixed(ctx)).To(BeZero())
		})

	It("holds for plans that were made before: one in mode Automatic that hasn't begun gives way to one that waits",
		func(ctx context.Context) {
			closed := func(s *fixture.Rollout) {
				s.Windows = []v1alpha1.MaintenanceWindow{
					{Schedule: "0 0 29 2 *", Duration: metav1.Duration{Duration: time.Minute}}}
			}
			hasty := fixture.Policy(policy, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic, closed))
			suite.Create(ctx, fixture.StrategyOf(hasty))
			Expect(ann.Create(ctx, hasty)).To(Succeed())
			before := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseHeld)
			Expect(before.Spec.Plan.Rollout.Mode).To(Equal(v1alpha1.RemediationAutomatic))

			restartWith(ctx, "--remediation-max-mode=Manual")
			after := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseAwaitingApproval)
			Expect(after.Spec.Plan.Rollout.Mode).To(Equal(v1alpha1.RemediationManual))
			Expect(suite.Get(ctx, before)).To(Succeed())
			Expect(before.Status.Phase).To(Equal(v1alpha1.PhaseSuperseded))
			Expect(before.Status.Reason).To(Equal(v1alpha1.ReasonPolicyChanged))
			Expect(before.Status.Message).To(
				ContainSubstring(
					"asks for mode Automatic, the administrator allows Manual at most (--remediation-max-mode)"))
			Expect(fixed(ctx)).To(BeZero())
		})
})
