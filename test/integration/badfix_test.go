// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A fix that doesn't work", func() {
	immutable := func(o client.Object) {
		yes := true
		o.(*corev1.ConfigMap).Immutable = &yes
	}
	DescribeTable("fails before anything is written, with the reason in the record and an event",
		func(ctx context.Context, ops string, object func(client.Object), reason, message string) {
			namespace := suite.Namespace(ctx, "badfix")
			for _, name := range []string{"one", "two"} {
				suite.Create(ctx, fixture.ConfigMap(namespace, name, object))
			}
			before := versions(ctx, namespace)
			policy := fixture.Policy(namespace, namespace, fixture.Fix(ops),
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonNoViableCanary))
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Failed: 2}))
			for _, record := range suite.Records(ctx, rem) {
				Expect(record.State).To(Equal(v1alpha1.TargetFailed))
				Expect(record.Reason).To(Equal(reason))
				Expect(record.Message).To(ContainSubstring(message))
				suite.AwaitEvent(ctx, "RemediationFailed", record.Object.Name,
					And(HavePrefix(reason+": "), ContainSubstring(message)))
			}
			Expect(patchedObjects(namespace)).To(BeEmpty())
			Expect(versions(ctx, namespace)).To(Equal(before))
		},
		Entry("when it doesn't resolve the violation", `[{"op": "replace", "path": "/data/state", "value": "worse"}]`,
			fixture.Unchanged, v1alpha1.ReasonFixIneffective, "state must be good"),
		Entry("when the server knows no such field",
			`[{"op": "replace", "path": "/data/state", "value": "good"}, {"op": "add", "path": "/dada", "value": {}}]`,
			fixture.Unchanged, v1alpha1.ReasonDryRunRefused, `unknown field "dada"`),
		Entry("when it sets a value of another type",
			`[{"op": "replace", "path": "/data/state", "value": "good"}, {"op": "add", "path": "/data/n", "value": 5}]`,
			fixture.Unchanged, v1alpha1.ReasonDryRunRefused, "cannot unmarshal number"),
		Entry("when it changes an immutable field", `[{"op": "replace", "path": "/data/state", "value": "good"}]`,
			immutable, v1alpha1.ReasonDryRunRefused, "field is immutable when `immutable` is set"),
	)

	It("fails before anything is written when the server would change another field than the fix says",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "badfix")
			suite.Create(ctx, fixture.ConfigMap(namespace, "one"))
			mutate(ctx, namespace, "true")
			before := versions(ctx, namespace)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			record := suite.RecordOf(ctx, rem, "one")
			Expect(record.Reason).To(Equal(v1alpha1.ReasonFixChangesMore))
			Expect(record.Message).To(ContainSubstring("/data/stamp"))
			Expect(versions(ctx, namespace)).To(Equal(before))
		})

	It("is rolled back with all that came with it when the server changes another field at the write alone",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "badfix")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
			mutate(ctx, namespace, "!request.dryRun && oldObject.data.state == 'bad' && object.data.state == 'good'")
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(rem.Status.Counts).To(HaveField("Reverted", BeEquivalentTo(1)),
				"the canary fails, and nothing else is written")
			Expect(rem.Status.Counts).To(HaveField("Skipped", BeEquivalentTo(2)))
			Expect(suite.Records(ctx, rem)).To(ContainElement(HaveField("Message", ContainSubstring("/data/stamp"))))
			for _, object := range fixture.ConfigMaps(namespace, 3) {
				Expect(suite.Get(ctx, object)).To(Succeed())
				Expect(object.(*corev1.ConfigMap).Data).To(Equal(map[string]string{"state": "bad", "patched": "0"}))
			}
		})

	It("isn't tried on the whole fleet: after ten candidates the plan ends, and isn't made again by itself",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "badfix")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 12)...)
			before := versions(ctx, namespace)
			policy := fixture.Policy(namespace, namespace,
				fixture.Fix(`[{"op": "replace", "path": "/data/state", "value": "worse"}]`),
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Failed: 10, Skipped: 2}))
			suite.AwaitEvent(ctx, "RemediationNotPlanned", policy.Name, ContainSubstring("fix the policy"))
			Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(1))
			Expect(versions(ctx, namespace)).To(Equal(before))
		})

	It("fails before anything is written when the fixed object would violate another policy",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "badfix")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
			before := versions(ctx, namespace)
			other := fixture.Policy(namespace+"-other", namespace, fixture.DenyState("good"),
				fixture.Enforced(v1alpha1.AdmissionDeny))
			suite.CreatePolicy(ctx, other)
			awaitRefusal(ctx, good(namespace), ContainSubstring("state must not be good"))
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			for _, record := range suite.Records(ctx, rem) {
				Expect(record.State).To(Equal(v1alpha1.TargetFailed))
				Expect(record.Reason).To(Equal(v1alpha1.ReasonFixBreaksPolicy))
				Expect(record.Message).To(And(ContainSubstring(other.Name), ContainSubstring("state must not be good")))
				suite.AwaitEvent(ctx, "RemediationFailed", record.Object.Name, ContainSubstring(other.Name))
			}
			Expect(versions(ctx, namespace)).To(Equal(before))
		})

	It("is only tried, never written, in mode DryRun, and the record holds the fix", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "dryrun")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		before := versions(ctx, namespace)
		policy := fixture.Policy(namespace, namespace, fixture.FixState, fixture.Remediated(v1alpha1.RemediationDryRun))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhasePreviewed)
		for _, record := range suite.Records(ctx, rem) {
			Expect(record.State).To(Equal(v1alpha1.TargetPreviewed))
			Expect(record.Write.Fields).To(HaveLen(2))
		}
		Expect(versions(ctx, namespace)).To(Equal(before))
	})
})

// mutate makes the API server stamp the ConfigMaps of a namespace at each update for
// which a condition in CEL holds, for the rest of the spec.
func mutate(ctx context.Context, namespace, when string) {
	GinkgoHelper()
	mutateKey(ctx, namespace, when, "stamp", "theirs")
}

// mutateKey has the API server set a key of the ConfigMaps of a namespace when they are updated so.
func mutateKey(ctx context.Context, namespace, when, key, value string) {
	GinkgoHelper()
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"configmaps"}}}}}},
			MatchConditions:    []admissionregistrationv1.MatchCondition{{Name: "when", Expression: when}},
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			Mutations: []admissionregistrationv1.Mutation{
				{PatchType: admissionregistrationv1.PatchTypeApplyConfiguration,
					ApplyConfiguration: &admissionregistrationv1.ApplyConfiguration{
						Expression: fmt.Sprintf(`Object{data: {%q: %q}}`, key, value)}}},
		}}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: namespace,
			MatchResources: &admissionregistrationv1.MatchResources{NamespaceSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}}}}
	suite.Create(ctx, policy, binding)
	DeferCleanup(func(ctx context.Context) {
		Expect(suite.API.Delete(ctx, binding)).To(Succeed())
		Expect(suite.API.Delete(ctx, policy)).To(Succeed())
	})
	probe := fixture.ConfigMap(namespace, "probe", func(o client.Object) { o.SetLabels(nil) })
	suite.Create(ctx, probe)
	Eventually(ctx, func(g Gomega) {
		for _, state := range []string{"bad", "good"} {
			g.Expect(suite.API.Patch(ctx, probe,
				client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"`+state+`"}}`)))).To(Succeed())
		}
		g.Expect(probe.Data).To(HaveKeyWithValue(key, value))
	}).Should(Succeed())
	Expect(suite.API.Delete(ctx, probe)).To(Succeed())
}

// good is a ConfigMap that FixState doesn't find.
func good(namespace string) *corev1.ConfigMap {
	return fixture.ConfigMap(namespace, "good", func(o client.Object) { o.(*corev1.ConfigMap).Data["state"] = "good" })
}
