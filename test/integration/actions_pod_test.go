// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// tainted finds Pods with a label that somebody has set on them by hand.
const tainted = `input.object.metadata.labels.tainted == "yes"`

func pods(ctx context.Context, namespace string) []corev1.Pod {
	GinkgoHelper()
	list := &corev1.PodList{}
	Expect(suite.API.List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

var _ = Describe("A fix that evicts Pods", func() {
	var (
		namespace string
		policy    *v1alpha1.ClusterRegoPolicy
		budget    *policyv1.PodDisruptionBudget
		pod       corev1.Pod
	)
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "evict")
		grant(ctx, "reader", namespace+"-read",
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"pods"},
				Verbs: []string{"get", "list", "watch"}})
		grantVerbs(ctx, namespace+"-evict", "", "pods/eviction", "create")
		grantVerbs(ctx, namespace+"-owners", "apps", "replicasets", "get")
		one := intstr.FromInt32(1)
		budget = &policyv1.PodDisruptionBudget{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec: policyv1.PodDisruptionBudgetSpec{
				MinAvailable: &one, Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web-0"}}}}
		policy = fixture.Policy(namespace, namespace, fixture.Acts(tainted, `{"action": "evict"}`),
			fixture.Kinds("", "Pod"), fixture.Unselected,
			func(p *v1alpha1.ClusterRegoPolicy) {
				no := false
				p.Spec.Match.PodTemplates = &no
			},
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Allowing(v1alpha1.ActionEvict)))
		deployments(ctx, namespace, 1)
		pod = pods(ctx, namespace)[0]
	})
	taint := func(ctx context.Context) {
		GinkgoHelper()
		Expect(suite.API.Patch(ctx, pod.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"tainted":"yes"}}}`)))).To(Succeed())
	}
	evicted := func(ctx context.Context) {
		GinkgoHelper()
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1}))
		record := suite.RecordOf(ctx, rem, pod.Name)
		Expect(record.Write.Action).To(Equal(v1alpha1.ActionEvict))
		Expect(record.Write.Controller.Kind).To(Equal("ReplicaSet"))
		Expect(record.Attempts).To(BeZero())
		for _, p := range pods(ctx, namespace) {
			Expect(p.UID).NotTo(Equal(pod.UID))
		}
	}

	It("waits for the PodDisruptionBudget, counts no try, and goes on as soon as it gives room",
		func(ctx context.Context) {
			suite.Create(ctx, budget)
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, budget)).To(Succeed())
				g.Expect(budget.Status.ObservedGeneration).To(Equal(budget.Generation))
			}).Should(Succeed())
			taint(ctx)
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func(g Gomega) {
				plans := suite.Plans(ctx, policy.Name)
				g.Expect(plans).NotTo(BeEmpty())
				record := suite.RecordOf(ctx, &plans[0], pod.Name)
				g.Expect(record.State).To(Equal(v1alpha1.TargetPending))
				g.Expect(record.Reason).To(Equal(v1alpha1.ReasonDisruptionBudget))
				g.Expect(record.Message).To(ContainSubstring("web"))
			}).Should(Succeed())
			Expect(suite.Get(ctx, &pod)).To(Succeed())
			Expect(pod.DeletionTimestamp).To(BeNil())

			Expect(suite.API.Patch(ctx, budget,
				client.RawPatch(types.MergePatchType, []byte(`{"spec":{"minAvailable":0}}`)))).To(Succeed())
			evicted(ctx)
		})

	It("fails with the budget's own words when that gives no room within the deadline, and no breaker counts it",
		func(ctx context.Context) {
			suite.Create(ctx, budget)
			taint(ctx)
			fixture.Rolled(policy, fixture.Deadline(3*time.Second))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
			record := suite.RecordOf(ctx, rem, pod.Name)
			Expect(record.State).To(Equal(v1alpha1.TargetFailed))
			Expect(record.Reason).To(Equal(v1alpha1.ReasonDisruptionBudget))
			Expect(record.Message).To(And(ContainSubstring("within 3s"), ContainSubstring("disruption budget")))
			Expect(succeeded(namespace, "POST", "pods", "eviction")).To(BeZero())
			breaker := &v1alpha1.RemediationBreaker{
				ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
			Expect(suite.Get(ctx, breaker)).To(Succeed())
			Expect(breaker.Status.State).To(Equal(v1alpha1.BreakerClosed))
			Expect(breaker.Status.ConsecutiveFailures).To(BeZero())
		})

	DescribeTable("evicts exactly once when the connection breaks at the write",
		func(ctx context.Context, fault faultproxy.Fault) {
			taint(ctx)
			broken := manager.Proxy.Nth(1, func(r faultproxy.Request) bool {
				return r.IsWrite() && r.Namespace == namespace && r.Subresource == "eviction"
			}, fault)
			DeferCleanup(manager.Proxy.Reset)
			suite.CreatePolicy(ctx, policy)
			evicted(ctx)
			Expect(broken.Hits()).To(Equal(1))
			Expect(succeeded(namespace, "POST", "pods", "eviction")).To(Equal(1))
			Expect(pods(ctx, namespace)).To(HaveLen(1))
		},
		Entry("lost on the way", faultproxy.Fault{LoseRequest: true}),
		Entry("its answer lost", faultproxy.Fault{LoseAnswer: true}),
	)

	It("judges what the controller makes in its place, and evicts no other when that violates too",
		func(ctx context.Context) {
			grantVerbs(ctx, namespace+"-roots", "apps", "deployments", "get")
			deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web-0"}}
			Expect(suite.API.Patch(ctx, deployment, client.RawPatch(types.MergePatchType,
				[]byte(`{"spec":{"replicas":3,"template":{"metadata":{"labels":{"tainted":"yes"}}}}}`)))).To(Succeed())
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, deployment)).To(Succeed())
				g.Expect(deployment.Status.ObservedGeneration).To(Equal(deployment.Generation))
				g.Expect(deployment.Status.UpdatedReplicas).To(BeEquivalentTo(3))
				g.Expect(deployment.Status.ReadyReplicas).To(BeEquivalentTo(3))
				g.Expect(pods(ctx, namespace)).To(HaveLen(3))
			}).Should(Succeed())
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRollbackIncomplete)
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonVerificationFailed))
			Expect(rem.Status.Message).To(
				And(ContainSubstring("violates again"),
					ContainSubstring("fix the template of Deployment "+namespace+"/web-0")))
			awaitBreaker(ctx, v1alpha1.PolicyBreakerPrefix+policy.Name,
				func(g Gomega, s v1alpha1.RemediationBreakerStatus) {
					g.Expect(s.State).To(Equal(v1alpha1.BreakerOpen))
				})
			suite.AwaitEvent(ctx, "RemediationNotPlanned", policy.Name, ContainSubstring("fix the policy"))
			Expect(succeeded(namespace, "POST", "pods", "eviction")).To(Equal(1))
			Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(1))
		})

	It("leaves a Pod alone that nothing would replace", func(ctx context.Context) {
		bare := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "bare", Labels: map[string]string{"tainted": "yes"}},
			Spec: pod.Spec}
		bare.Spec.NodeName, bare.Spec.ServiceAccountName, bare.Spec.Volumes = "", "", nil
		bare.Spec.Containers = []corev1.Container{{Name: "web", Image: "example.com/web:1"}}
		suite.Create(ctx, bare)
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAborted)
		Expect(suite.RecordOf(ctx, rem, "bare").Message).To(ContainSubstring("no controller made it"))
		Expect(suite.Get(ctx, bare)).To(Succeed())
	})
})

var _ = Describe("A fix of the status", func() {
	const (
		due = `{
	input.object.status.daysLeft < 30
	count([c | some c in input.object.status.conditions; c.type in {"Issuing", "Stalled"}]) == 0
}`
		addCondition = `{"action": "patch", "subresource": "status", "ops": [{"op": "add", "path": "/status/conditions/-",
	"value": {"type": "%s", "status": "True", "reason": "ManuallyTriggered", "message": "renewal"}}]}`
	)
	var namespace string
	certificate := func() *unstructured.Unstructured {
		c := &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "verbs.example.com/v1", "kind": "Certificate",
				"metadata": map[string]any{"namespace": namespace, "name": "web",
					"labels": map[string]any{"fixture": "target"}},
				"spec": map[string]any{"secretName": "web-tls"}}}
		return c
	}
	ready := map[string]any{"daysLeft": int64(5),
		"conditions": []any{map[string]any{"type": "Ready", "status": "True", "reason": "Issued",
			"message": "up to date"}}}
	policyWith := func(condition string, strategy ...func(*fixture.Rollout)) *v1alpha1.ClusterRegoPolicy {
		return fixture.Policy(namespace, namespace, fixture.Acts(due, fmt.Sprintf(addCondition, condition)),
			fixture.Kinds("verbs.example.com", "Certificate"),
			fixture.Remediated(v1alpha1.RemediationAutomatic, strategy...))
	}
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "status")
		ensureCertificates(ctx)
		grant(ctx, "reader", namespace+"-read",
			rbacv1.PolicyRule{APIGroups: []string{"verbs.example.com"}, Resources: []string{"certificates"},
				Verbs: []string{"get", "list", "watch"}})
		grantVerbs(ctx, namespace+"-patch", "verbs.example.com", "certificates", "patch")
		made := certificate()
		Eventually(ctx, func() error { return suite.API.Create(ctx, made) }).Should(Succeed())
		rig.UpdateStatus(ctx, suite.API, made, func() { made.Object["status"] = ready })
	})
	statusOf := func(ctx context.Context) any {
		GinkgoHelper()
		c := certificate()
		Expect(suite.Get(ctx, c)).To(Succeed())
		return c.Object["status"]
	}

	It("waits for the permission to the subresource, names the rule, and asks for a renewal as soon as it may",
		func(ctx context.Context) {
			policy := policyWith("Issuing")
			suite.CreatePolicy(ctx, policy)
			Eventually(ctx, func(g Gomega) {
				plans := suite.Plans(ctx, policy.Name)
				g.Expect(plans).NotTo(BeEmpty())
				g.Expect(suite.RecordOf(ctx, &plans[0], "web").Message).To(
					ContainSubstring(
						`{apiGroups: ["verbs.example.com"], resources: ["certificates/status"], verbs: ["patch"]}`))
			}).Should(Succeed())
			grantVerbs(ctx, namespace+"-status", "verbs.example.com", "certificates/status", "patch")
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(suite.RecordOf(ctx, rem, "web").Write.Subresource).To(Equal("status"))
			Expect(statusOf(ctx)).To(HaveKeyWithValue("conditions", HaveLen(2)))
			Expect(succeeded(namespace, "PATCH", "certificates", "status")).To(Equal(1))
			Expect(succeeded(namespace, "PATCH", "certificates", "")).To(BeZero())
		})

	It("is set back exactly when the object gets worse by it", func(ctx context.Context) {
		grantVerbs(ctx, namespace+"-status", "verbs.example.com", "certificates/status", "patch")
		policy := policyWith("Stalled", fixture.Deadline(3*time.Second))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		Expect(suite.RecordOf(ctx, rem, "web").State).To(Equal(v1alpha1.TargetReverted))
		Expect(statusOf(ctx)).To(Equal(any(ready)))
	})
})

// ensureCertificates makes a kind like cert-manager's, with a status of its own.
func ensureCertificates(ctx context.Context) {
	GinkgoHelper()
	preserve := true
	free := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "certificates.verbs.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "verbs.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "certificates", Singular: "certificate",
				Kind: "Certificate", ListKind: "CertificateList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{}},
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object",
						Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": free, "status": free}}}}},
		}}
	Expect(client.IgnoreAlreadyExists(suite.API.Create(ctx, crd))).To(Succeed())
}
