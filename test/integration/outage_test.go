// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("What says nothing of the fix", func() {
	It("blocks nothing: a plan that somebody's dead webhook ends is made again", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "outage")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		revive := deadWebhook(ctx, namespace)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic,
				func(s *fixture.Rollout) { s.RetryLimit = new(int32) }))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonNoAnswer))
		for _, record := range suite.Records(ctx, rem) {
			Expect(record.Reason).To(Equal(v1alpha1.ReasonRetriesExhausted))
			Expect(record.Message).To(ContainSubstring("failed calling webhook"))
		}
		suite.AwaitEvent(ctx, "RemediationNotPlanned", policy.Name, ContainSubstring("another is made by itself"))
		own := &v1alpha1.RemediationBreaker{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
		Expect(suite.Get(ctx, own)).To(Succeed())
		Expect(own.Status.State).To(Equal(v1alpha1.BreakerClosed))
		Expect(own.Status.Failures).To(BeZero())

		By("the webhook is gone, and a person doesn't want to wait for the minute")
		revive(ctx)
		say(ctx, rem, `{"retryToken":"1"}`)
		again := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(again.Status.Counts.Done).To(BeEquivalentTo(3))
	})

	It("is what a denied dry run tells: no breaker counts it, and none is made for it", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "denied")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		deny(ctx, namespace)
		policy := fixture.Policy(namespace, namespace, fixture.FixState, fixture.Remediated(v1alpha1.RemediationDryRun))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhasePreviewed)
		for _, record := range suite.Records(ctx, rem) {
			Expect(record.Reason).To(Equal(v1alpha1.ReasonAdmissionDenied))
		}
		global := &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.GlobalBreakerName}}
		Expect(suite.Get(ctx, global)).To(Succeed())
		for _, failing := range global.Status.FailingPolicies {
			Expect(failing.Policy).NotTo(Equal(policy.Name))
		}
		for _, name := range []string{
			v1alpha1.PolicyBreakerPrefix + policy.Name, v1alpha1.NamespaceBreakerPrefix + namespace} {
			err := suite.Get(ctx, &v1alpha1.RemediationBreaker{ObjectMeta: metav1.ObjectMeta{Name: name}})
			Expect(apierrors.IsNotFound(err)).To(BeTrue(), "breaker %s: %v", name, err)
		}
	})

	It("keeps no plan from going on: one whose slice is restored does so at once", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "restored")
		suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
		policy := fixture.Policy(namespace, namespace, fixture.FixState, fixture.Remediated(v1alpha1.RemediationManual))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAwaitingApproval)
		slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: rem.Spec.Plan.Slices[0]}}
		Expect(suite.Get(ctx, slice)).To(Succeed())
		Expect(suite.API.Delete(ctx, slice.DeepCopy())).To(Succeed())
		reason := func() string {
			Expect(suite.Get(ctx, rem)).To(Succeed())
			return rem.Status.Reason
		}
		Eventually(ctx, reason).Should(Equal("SliceMissing"))
		slice.UID, slice.ResourceVersion = "", ""
		Expect(suite.AsManager().Create(ctx, slice)).To(Succeed(), "nobody else may")
		Eventually(ctx, reason).Should(Equal(v1alpha1.ReasonAwaitingApproval))
	})
})

// deadWebhook makes the API server ask a webhook that nobody serves about every
// update of the namespace's ConfigMaps. It returns what takes it away.
func deadWebhook(ctx context.Context, namespace string) func(context.Context) {
	GinkgoHelper()
	url, fail, none, second := "https://127.0.0.1:1/", admissionregistrationv1.Fail,
		admissionregistrationv1.SideEffectClassNone, int32(1)
	configuration := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{
			{Name: "dead.example.com", FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &second,
				AdmissionReviewVersions: []string{"v1"},
				ClientConfig:            admissionregistrationv1.WebhookClientConfig{URL: &url},
				NamespaceSelector: &metav1.LabelSelector{
					MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				Rules: []admissionregistrationv1.RuleWithOperations{
					{Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"configmaps"}}}}}}}
	suite.Create(ctx, configuration)
	remove := func(ctx context.Context) {
		Expect(client.IgnoreNotFound(suite.API.Delete(ctx, configuration))).To(Succeed())
	}
	DeferCleanup(remove)
	awaitDryRun(ctx, namespace, MatchError(ContainSubstring("failed calling webhook")))
	return func(ctx context.Context) {
		remove(ctx)
		awaitDryRun(ctx, namespace, Succeed())
	}
}

// deny makes the API server deny every update of the namespace's ConfigMaps.
func deny(ctx context.Context, namespace string) {
	GinkgoHelper()
	policy := &admissionregistrationv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"configmaps"}}}}}},
			Validations: []admissionregistrationv1.Validation{{Expression: "false", Message: "frozen"}}}}
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: namespace,
			ValidationActions: []admissionregistrationv1.ValidationAction{admissionregistrationv1.Deny},
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}}}
	suite.Create(ctx, policy, binding)
	DeferCleanup(func(ctx context.Context) {
		Expect(suite.API.Delete(ctx, binding)).To(Succeed())
		Expect(suite.API.Delete(ctx, policy)).To(Succeed())
	})
	awaitDryRun(ctx, namespace, MatchError(ContainSubstring("frozen")))
}

// awaitDryRun waits until a dry run of an update of a ConfigMap comes out so.
func awaitDryRun(ctx context.Context, namespace string, outcome OmegaMatcher) {
	GinkgoHelper()
	Eventually(ctx, func() error {
		c := fixture.ConfigMap(namespace, "target-0")
		return suite.API.Patch(ctx, c, client.RawPatch(types.MergePatchType, []byte(`{"data":{"patched":"1"}}`)),
			client.DryRunAll)
	}).Should(outcome)
}
