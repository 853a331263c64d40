// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The schema", func() {
	DescribeTable("refuses a policy",
		func(ctx context.Context, change func(*v1alpha1.ClusterRegoPolicy), says string) {
			policy := fixture.Policy("schema", "nowhere", fixture.FixState, change)
			Expect(suite.API.Create(ctx, policy, client.DryRunAll)).To(MatchError(ContainSubstring(says)))
		},
		Entry("without a title", func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Title = "" }, "spec.title"),
		Entry("that refuses, and nobody answers for", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Owner, p.Spec.Admission.Action = "", "Deny"
		}, "owner is required"),
		Entry("that fixes, and nobody answers for", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Owner, p.Spec.Remediation.Mode = "", "DryRun"
		}, "owner is required"),
		Entry("that refuses without a runbook", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.RunbookURL, p.Spec.Admission.Action = "", "Deny"
		}, "must know where to look"),
		Entry("that fixes without a runbook", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.RunbookURL, p.Spec.Remediation.Mode = "", "Manual"
		}, "must know where to look"),
		Entry("of unknown severity", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Severity = "Fatal"
		}, "spec.severity"),
		Entry("whose runbook is no link", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.RunbookURL = "ask Bob"
		}, "spec.runbookURL"),
		Entry("without Rego", func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Rego.Main = "" }, "spec.rego.main"),
		Entry("with a library named like the main module", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Libraries = []v1alpha1.RegoLibrary{{Name: p.Spec.Rego.File, Source: "package a"}}
		}, "a library bears the file name of rego.main"),
		Entry("with two libraries of one name", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Libraries = []v1alpha1.RegoLibrary{
				{Name: "a.rego", Source: "package a"}, {Name: "a.rego", Source: "package b"}}
		}, "Duplicate value"),
		Entry("with more Rego than can be kept", func(p *v1alpha1.ClusterRegoPolicy) {
			for _, name := range []string{"a", "b"} {
				p.Spec.Rego.Libraries = append(
					p.Spec.Rego.Libraries, v1alpha1.RegoLibrary{Name: name, Source: strings.Repeat("#", 131072)})
			}
		}, "192 Ki characters in all"),
		Entry("that matches no kind", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.Resources = nil
		}, "spec.match.resources"),
		Entry("that matches every group", fixture.Kinds("*", "ConfigMap"), "name the groups"),
		Entry("that matches every kind", fixture.Kinds("", "*"), "name the kinds"),
		Entry("of unknown enforcement", fixture.Enforced("Block"), "spec.admission.action"),
		Entry("of unknown remediation mode", fixture.Remediated("Sometimes"), "spec.remediation.mode"),
		Entry("whose waves leave targets out", remediated(fixture.Waves("5%", "50%")), `waves must end with "100%"`),
		Entry("whose waves end with a count", remediated(func(s *v1alpha1.RolloutStrategy) {
			s.Waves = []intstr.IntOrString{intstr.FromInt32(100)}
		}), `waves must end with "100%"`),
		Entry("that refers to a strategy and says one itself", func(p *v1alpha1.ClusterRegoPolicy) {
			fixture.Following("DryRun", "careful")(p)
			fixture.Concurrent(3)(&p.Spec.Remediation.RolloutStrategy)
		}, "strategyRef and a strategy of the policy's own exclude each other"),
		Entry("with too many writes at once", remediated(fixture.Concurrent(101)), "maxInFlight"),
		Entry("whose name is too long for those built from it", func(p *v1alpha1.ClusterRegoPolicy) {
			p.Name = strings.Repeat("n", 53)
		}, "at most 52 characters"),
	)

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
				p.Strategy.Mode = v1alpha1.RemediationAutomatic
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
