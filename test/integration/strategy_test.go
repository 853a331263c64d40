// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	record "evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("A strategy that policies share", func() {
	var namespace, name string

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "strategy")
		name = namespace
		suite.Create(ctx, fixture.ConfigMaps(namespace, 5)...)
		DeferCleanup(func(ctx context.Context) { removeStrategy(ctx, name) })
	})
	policy := func(suffix string, mode v1alpha1.RemediationMode, rego string) *v1alpha1.ClusterRegoPolicy {
		return fixture.Policy(namespace+"-"+suffix, namespace, rego, fixture.Following(mode, name))
	}
	// slow soaks for as long as a spec may take, so that a plan by it stays at work.
	slow := fixture.CanarySoak(time.Hour)
	waves := func(ctx context.Context, change ...string) {
		GinkgoHelper()
		changeStrategy(ctx, suite.API, name, func(s *v1alpha1.RemediationStrategy) {
			shared := fixture.Strategy(name, fixture.Waves(change...), slow)
			s.Spec = shared.Spec
		})
	}

	It("gives two policies its waves; an edit leaves their plans as they are, and counts for the next",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.Strategy(name, fixture.Waves("2", "100%"), slow))
			first, second := policy("a", v1alpha1.RemediationAutomatic, fixture.FixState),
				policy("b", v1alpha1.RemediationManual, fixture.FixState)
			suite.CreatePolicy(ctx, first)
			rem := suite.AwaitPhase(ctx, first.Name, v1alpha1.PhaseSoaking)
			Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 1, 3}))
			by := rem.Spec.Plan.StrategyRef
			Expect(by).NotTo(BeNil())
			Expect(by.Name).To(Equal(name))
			Expect(by.Generation).To(BeEquivalentTo(1))
			Eventually(ctx, func(g Gomega) { // the scan writes it apart from the plan
				inForce := suite.Policy(ctx, first.Name).Status.InForce
				g.Expect(inForce).NotTo(BeNil())
				g.Expect(inForce.RemediationMode).To(Equal(v1alpha1.RemediationAutomatic))
			}).Should(Succeed())

			By("editing the strategy: the plan in progress keeps its own, and the next policy's has the new one")
			waves(ctx, "3", "100%")
			suite.CreatePolicy(ctx, second)
			waiting := suite.AwaitPhase(ctx, second.Name, v1alpha1.PhaseAwaitingApproval)
			Expect(canary.Targets(waiting.Spec.Plan.Waves)[:2]).To(Equal([]int32{1, 2}),
				"one of the five may be fixed by the first")
			Expect(waiting.Spec.Plan.StrategyRef.Generation).To(BeEquivalentTo(2))
			Expect(suite.Get(ctx, rem)).To(Succeed())
			Expect(rem.Status.Phase).To(Equal(v1alpha1.PhaseSoaking))
			Expect(rem.Spec.Plan.Waves[1].Targets).To(BeEquivalentTo(1))

			By("counting who follows it")
			Eventually(ctx, func(g Gomega) {
				shared := &v1alpha1.RemediationStrategy{}
				g.Expect(suite.API.Get(ctx, client.ObjectKey{Name: name}, shared)).To(Succeed())
				g.Expect(shared.Status.Policies).To(BeEquivalentTo(2))
				g.Expect(shared.Status.ObservedGeneration).To(Equal(shared.Generation))
				g.Expect(shared.Status.InForce.Steps).To(Equal("1, 3, 100%"))
				g.Expect(meta.IsStatusConditionTrue(shared.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
			}).Should(Succeed())
		})

	It("that is missing lets nothing be remediated, and says so; once it is there, the plan has its waves",
		func(ctx context.Context) {
			api, warned := warningClient()
			Expect(api.Create(ctx, policy("a", v1alpha1.RemediationAutomatic, fixture.FixState), client.DryRunAll)).To(
				Succeed())
			Expect(warned()).To(
				ContainElement(ContainSubstring(
					`there is no RemediationStrategy "` + name + `", so nothing is remediated`)))

			p := policy("a", v1alpha1.RemediationAutomatic, fixture.FixState)
			suite.CreatePolicy(ctx, p)
			awaitReady(ctx, p.Name, v1alpha1.ReasonStrategyNotFound, "")
			suite.AwaitScan(ctx, p.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.Violating).To(BeEquivalentTo(5))
			})
			Expect(suite.Policy(ctx, p.Name).Status.InForce.RemediationMode).To(Equal(v1alpha1.RemediationDisabled))
			suite.AwaitEvent(ctx, "RemediationNotPlanned", p.Name, ContainSubstring("there is no RemediationStrategy"))
			Expect(suite.Plans(ctx, p.Name)).To(BeEmpty())

			// What is in work is verified to its end, its soak included.
			suite.Create(ctx, fixture.Strategy(name, fixture.Waves("2", "100%"), func(s *fixture.Rollout) {
				fixture.CanarySoak(15 * time.Second)(s)
			}))
			rem := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhaseSoaking)
			Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 1, 3}))
			awaitReady(ctx, p.Name, v1alpha1.ReasonCompiled, "")

			By("deleting it: the plan that was made by it begins nothing more, and ends")
			removeStrategy(ctx, name)
			ended := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhaseSuperseded)
			Expect(ended.UID).To(Equal(rem.UID))
			Expect(ended.Status.Counts.Done).To(BeEquivalentTo(1), "the canary")
			Expect(ended.Status.Reason).To(Equal(v1alpha1.ReasonStrategyNotFound))
			awaitReady(ctx, p.Name, v1alpha1.ReasonStrategyNotFound, "")

			By("making it anew with other values: another plan has those")
			suite.Create(ctx, fixture.Strategy(name, fixture.Waves("3", "100%"), slow))
			Eventually(ctx, func(g Gomega) {
				plans := suite.Plans(ctx, p.Name)
				g.Expect(plans).To(HaveLen(2))
				g.Expect(plans[1].Spec.Plan.Waves[1].Targets).To(BeEquivalentTo(2))
				g.Expect(plans[1].Spec.Plan.StrategyRef.UID).NotTo(Equal(rem.Spec.Plan.StrategyRef.UID))
			}).Should(Succeed())
		})

	It("makes its authors authors of the policies: none of them approves a plan by it", func(ctx context.Context) {
		role := editors(ctx)
		ann, sue, bob := userWith(ctx, "ann", role), userWith(ctx, "sue", role),
			userWith(ctx, "bob", "evenkeel-approver")
		userWith(ctx, "sue", "evenkeel-approver")
		p := policy("a", v1alpha1.RemediationManual, fixture.FixState)
		suite.CleanUp(p.Name)
		distinct := func(s *fixture.Rollout) { s.Approval.RequireDistinctApprover = true }
		shared := fixture.Strategy(name, distinct)
		shared.Annotations = map[string]string{
			v1alpha1.AnnotationAuthor: "cid", v1alpha1.AnnotationAuthors: `{"users":["cid"],"generation":1}`}
		Expect(sue.Create(ctx, shared)).To(Succeed())
		Expect(record.Of(shared).Users).To(
			Equal([]string{"sue"}), "admission says who it is, whatever the request says")
		Expect(ann.Create(ctx, p)).To(Succeed())
		rem := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhaseAwaitingApproval)
		Expect(rem.Spec.Plan.StrategyRef.Authors).To(Equal([]string{"sue"}))

		By("refusing her also once she has lifted what the strategy requires")
		changeStrategy(ctx, sue, name, func(s *v1alpha1.RemediationStrategy) {
			s.Spec.Approval.RequireDistinctApprover = false
		})
		Expect(approve(ctx, sue, rem)).To(
			MatchError(ContainSubstring("sue has written RemediationStrategy " + name)))

		By("taking the answer of somebody who has written neither, to the plan as it was made")
		Expect(approve(ctx, bob, rem)).To(Succeed())
		done := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhaseSucceeded)
		Expect(done.UID).To(Equal(rem.UID))
		Expect(done.Spec.Plan.Rollout.RequireDistinctApprover).To(BeTrue())
	})

	It("lowers none of the administrator's floors, and its author is told", func(ctx context.Context) {
		restartWith(ctx, "--remediation-max-mode=Manual", "--remediation-max-wave=2", "--remediation-max-in-flight=1",
			"--remediation-min-soak=1s")
		api, warned := warningClient()
		Expect(api.Create(ctx, fixture.Strategy(name))).To(Succeed())
		Expect(warned()).To(ContainElements(
			"spec.soak: the policy asks for 100ms, the administrator allows 1s (--remediation-min-soak)",
			"spec.maxInFlight: the policy asks for 10, the administrator allows 1 (--remediation-max-in-flight)"))
		p := policy("a", v1alpha1.RemediationAutomatic, fixture.FixState)
		suite.CreatePolicy(ctx, p)
		rem := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhaseAwaitingApproval)
		Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 2, 2}))
		Expect(rem.Spec.Plan.Rollout.MaxInFlight).To(BeEquivalentTo(1))
		Expect(rem.Spec.Plan.Waves[0].Soak.Duration).To(Equal(time.Second))
		Expect(rem.Spec.Plan.Limits).To(ContainElement(
			v1alpha1.AppliedLimit{Field: "mode", Asked: "Automatic", Allowed: "Manual",
				Flag: "--remediation-max-mode"}))
	})

	It("of the built-in default rolls out what names none", func(ctx context.Context) {
		p := fixture.Policy(namespace+"-none", namespace, fixture.FixState, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Remediation.Mode = v1alpha1.RemediationDryRun
		})
		suite.CreatePolicy(ctx, p)
		rem := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhasePreviewed)
		Expect(rem.Spec.Plan.StrategyRef).To(BeNil())
		Expect(canary.Targets(rem.Spec.Plan.Waves)).To(Equal([]int32{1, 4}), "5% and 25% of five add none")
		Expect(rem.Spec.Plan.Waves[1].Soak.Duration).To(Equal(time.Minute))
		Expect(rem.Spec.Plan.Rollout.MaxInFlight).To(BeEquivalentTo(10))
	})

	It("is refused when it can't be followed, by the judge of what policies say themselves", func(ctx context.Context) {
		wrong := fixture.Strategy(name)
		wrong.Spec.Windows = []v1alpha1.MaintenanceWindow{
			{Schedule: "0 0 30 2 *", Duration: metav1.Duration{Duration: time.Hour}}}
		Expect(suite.API.Create(ctx, wrong)).To(MatchError(ContainSubstring("spec.windows[0]")))
		wrong = fixture.Strategy(name, fixture.Waves("100%", "50%"))
		Expect(suite.API.Create(ctx, wrong)).To(MatchError(ContainSubstring("no step may follow one of 100%")))

		By("refusing the old names, with the new ones")
		old := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(),
			"kind": "RemediationStrategy", "metadata": map[string]any{"name": name}, "spec": map[string]any{
				"canary": map[string]any{"size": int64(1)}, "waves": []any{"5%", "100%"}, "soak": "1m",
				"budget": map[string]any{"maxTargets": int64(3)}}}}
		err := suite.API.Create(ctx, old)
		for _, says := range []string{"canary is gone: set the first of steps", "waves is gone: set steps",
			"soak is gone: set soak in the steps", "budget is gone: set maxInFlight, maxPerNamespace and maxTargets"} {
			Expect(err).To(MatchError(ContainSubstring(says)))
		}
		inline := &unstructured.Unstructured{Object: map[string]any{"apiVersion": v1alpha1.GroupVersion.String(),
			"kind": "ClusterRegoPolicy", "metadata": map[string]any{"name": name}, "spec": map[string]any{
				"title": "t", "owner": "o", "rego": map[string]any{"main": fixture.FixState},
				"match": map[string]any{"kinds": []any{map[string]any{
					"apiGroups": []any{""}, "kinds": []any{"ConfigMap"}}}},
				"remediation": map[string]any{"mode": "DryRun", "canary": map[string]any{"size": int64(1)},
					"windows":     []any{map[string]any{"schedule": "0 22 * * *", "duration": "8h"}},
					"maxInFlight": int64(3), "onFailure": "Hold"}}}}
		err = suite.API.Create(ctx, inline)
		for _, field := range []string{"canary", "windows", "maxInFlight", "onFailure"} {
			Expect(err).To(MatchError(ContainSubstring(field + " is gone from policies: set ")))
		}
	})
})

// changeStrategy changes a strategy as a user, again if somebody else wrote it meanwhile.
func changeStrategy(ctx context.Context, as client.Client, name string, change func(*v1alpha1.RemediationStrategy)) {
	GinkgoHelper()
	s := &v1alpha1.RemediationStrategy{}
	s.Name = name
	rig.Update(ctx, as, s, func() { change(s) })
}

// removeStrategy removes a strategy, if there is one.
func removeStrategy(ctx context.Context, name string) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(
		suite.API.Delete(ctx, &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: name}}))).To(Succeed())
}
