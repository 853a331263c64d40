// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("The schema", func() {
	// test/api holds every rule of the schemas in process, as this proves of two on the API server.
	It("refuses a policy without an owner, and a source with a password", func(ctx context.Context) {
		policy := fixture.Policy("schema", "nowhere", fixture.FixState, fixture.Enforced(v1alpha1.AdmissionDeny))
		policy.Spec.Owner = ""
		Expect(suite.API.Create(ctx, policy, client.DryRunAll)).To(MatchError(ContainSubstring("owner is required")))
		source := &v1alpha1.PolicySource{ObjectMeta: metav1.ObjectMeta{Namespace: rig.SystemNamespace, Name: "schema"},
			Spec: v1alpha1.PolicySourceSpec{URL: "https://me:secret@git.example.com/policies.git"}}
		Expect(suite.API.Create(ctx, source, client.DryRunAll)).To(
			MatchError(ContainSubstring("must not hold a password")))
	})

	It("keeps a plan and its slices as they were made", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "schema")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		policy := fixture.Policy(namespace, namespace, fixture.FixState, fixture.Remediated(v1alpha1.RemediationDryRun))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhasePreviewed)
		// Patches, since the controller may still write the status of both.
		planned := rem.DeepCopy()
		for name, change := range map[string]func(*v1alpha1.RemediationPlan){
			"its count": func(p *v1alpha1.RemediationPlan) { p.Targets++ },
			"its strategy": func(p *v1alpha1.RemediationPlan) {
				p.Rollout.Mode = v1alpha1.RemediationAutomatic
			},
			"its policy": func(p *v1alpha1.RemediationPlan) { p.Policy.UID = "another" },
			"a field that it hadn't": func(p *v1alpha1.RemediationPlan) {
				p.Stages = []v1alpha1.PlannedStage{{Name: "prod"}}
			},
			"a field that it had before": func(p *v1alpha1.RemediationPlan) { p.Writable = 0 },
		} {
			changed := planned.DeepCopy()
			change(&changed.Spec.Plan)
			for _, who := range []client.Client{suite.API, suite.AsManager()} {
				Expect(who.Patch(ctx, changed.DeepCopy(), client.MergeFrom(planned))).To(
					MatchError(ContainSubstring("a plan is immutable")), name)
			}
		}
		slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}}
		Expect(suite.Get(ctx, slice)).To(Succeed())
		made := slice.DeepCopy()
		Expect(made.Records).To(HaveLen(2))
		Expect(made.Progress).To(Equal(v1alpha1.SliceProgress{Targets: 2, Done: 2}))
		for name, change := range map[string]func(*v1alpha1.RemediationSlice){
			"its targets": func(s *v1alpha1.RemediationSlice) { s.Targets = s.Targets[1:] },
			"its plan":    func(s *v1alpha1.RemediationSlice) { s.Remediation = "another" },
			"its place":   func(s *v1alpha1.RemediationSlice) { s.Index++ },
		} {
			changed := made.DeepCopy()
			change(changed)
			for _, who := range []client.Client{suite.API, suite.AsManager()} {
				Expect(who.Patch(ctx, changed.DeepCopy(), client.MergeFrom(made))).To(
					MatchError(ContainSubstring("a plan is immutable")), name)
			}
		}
	})

	It("keeps a breaker's scope, and asks for its name and the reason of a reset", func(ctx context.Context) {
		breaker := &v1alpha1.RemediationBreaker{
			ObjectMeta: metav1.ObjectMeta{Name: "policy-of-schema"},
			Spec: v1alpha1.RemediationBreakerSpec{
				Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy}},
		}
		Expect(suite.API.Create(ctx, breaker.DeepCopy())).To(
			MatchError(ContainSubstring("policy is required for type Policy")))
		breaker.Spec.Scope.Policy = "one"
		Expect(suite.API.Create(ctx, breaker.DeepCopy())).To(MatchError(ContainSubstring("would stop nothing")))
		breaker.Name = v1alpha1.PolicyBreakerPrefix + "one"
		suite.Create(ctx, breaker)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, breaker)).To(Succeed()) })
		// A patch, since the controller writes the breaker's status meanwhile.
		changed := breaker.DeepCopy()
		changed.Spec.Scope.Policy = "other"
		Expect(suite.API.Patch(ctx, changed, client.MergeFrom(breaker))).To(
			MatchError(ContainSubstring("scope is immutable")))
		changed = breaker.DeepCopy()
		changed.Spec.Mode = "Closed"
		Expect(suite.API.Patch(ctx, changed, client.MergeFrom(breaker))).To(
			MatchError(ContainSubstring(`supported values: "Automatic", "ForcedOpen"`)))
		forced := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"forced":"Open"}}`))
		Expect(suite.API.Patch(ctx, breaker.DeepCopy(), forced, client.FieldValidation(metav1.FieldValidationIgnore))).
			To(MatchError(ContainSubstring("set spec.mode to ForcedOpen")),
				"a kill switch that doesn't kill isn't dropped in silence")
		unknown := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"reset":{"count":1}}}`))
		Expect(suite.API.Patch(ctx, breaker.DeepCopy(), unknown, client.FieldValidation(metav1.FieldValidationStrict))).
			To(MatchError(ContainSubstring(`unknown field "spec.reset"`)))
		changed = breaker.DeepCopy()
		changed.Spec.ResetToken = "1"
		Expect(suite.API.Patch(ctx, changed, client.MergeFrom(breaker))).To(
			MatchError(ContainSubstring("a reset needs a reason")))
		of := func(name string, scope v1alpha1.BreakerScope) *v1alpha1.RemediationBreaker {
			return &v1alpha1.RemediationBreaker{
				ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.RemediationBreakerSpec{Scope: scope}}
		}
		Expect(suite.API.Create(ctx,
			of("namespace-shop", v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace}))).
			To(MatchError(ContainSubstring("namespace is required for type Namespace")))
		Expect(suite.API.Create(ctx,
			of("shop", v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: "shop"}))).
			To(MatchError(ContainSubstring("would stop nothing")))
		Expect(suite.API.Create(ctx, of("everything", v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeGlobal}))).
			To(MatchError(ContainSubstring("would stop nothing")))
	})
})
