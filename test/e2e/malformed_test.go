// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"encoding/json"
	"os"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// schemaOfDescription is where the definition of policies says that a description is text.
const schemaOfDescription = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/description"

// patchPolicyKind changes the definition of policies.
func patchPolicyKind(ctx context.Context, patch string) {
	GinkgoHelper()
	crd := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "clusterregopolicies.evenkeel.dev"}}
	crd.SetGroupVersionKind(
		schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	Expect(suite.API.Patch(ctx, crd, client.RawPatch(types.JSONPatchType, []byte(patch)))).To(Succeed())
}

// unchecked takes the webhooks and the schema's rule away while store runs.
func unchecked(ctx context.Context, store func()) {
	GinkgoHelper()
	for _, config := range []client.Object{
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}},
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel"}},
	} {
		Expect(client.IgnoreNotFound(suite.API.Delete(ctx, config))).To(Succeed())
	}
	crd := &unstructured.Unstructured{}
	crd.SetGroupVersionKind(
		schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	Expect(suite.API.Get(ctx, client.ObjectKey{Name: "clusterregopolicies.evenkeel.dev"}, crd)).To(Succeed())
	versions, _, err := unstructured.NestedSlice(crd.Object, "spec", "versions")
	Expect(err).NotTo(HaveOccurred())
	was, found, err := unstructured.NestedMap(versions[0].(map[string]any), "schema", "openAPIV3Schema", "properties",
		"spec", "properties", "description")
	Expect(err).NotTo(HaveOccurred())
	Expect(found).To(BeTrue())
	text, err := json.Marshal(was)
	Expect(err).NotTo(HaveOccurred())
	become := func(ctx context.Context, schema string) {
		patchPolicyKind(ctx, `[{"op":"replace","path":"`+schemaOfDescription+`","value":`+schema+`}]`)
	}
	become(ctx, `{"x-kubernetes-preserve-unknown-fields":true}`)
	restore := func(ctx context.Context) { become(ctx, string(text)) }
	DeferCleanup(restore)
	store()
	restore(ctx)
}

var _ = Describe("A policy that is stored and can't be read", func() {
	It("keeps no other from coming into force, and is named", func(ctx context.Context) {
		manager := suite.StartManager(ctx)
		namespace := suite.Namespace(ctx, "malformed")
		judged := func(name, state string) *v1alpha1.ClusterRegoPolicy {
			return fixture.Policy(namespace+name, namespace, fixture.DenyState(state),
				fixture.Enforced(v1alpha1.AdmissionDeny))
		}
		inForce := func(name string) {
			GinkgoHelper()
			Eventually(ctx, func(g Gomega) {
				p := &v1alpha1.ClusterRegoPolicy{}
				g.Expect(suite.API.Get(ctx, client.ObjectKey{Name: namespace + name}, p)).To(Succeed())
				g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
				g.Expect(meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady)).To(BeTrue())
			}).Should(Succeed())
		}
		refuses := func(state string) {
			GinkgoHelper()
			Eventually(ctx, func() error {
				tried := fixture.ConfigMap(namespace, "tried", func(o client.Object) {
					o.(*corev1.ConfigMap).Data["state"] = state
				})
				return suite.API.Create(ctx, tried, client.DryRunAll)
			}).Should(MatchError(ContainSubstring("state must not be " + state)))
		}
		suite.CreatePolicy(ctx, judged("-before", "one"))
		inForce("-before")

		By("storing it while no webhook and no rule of the schema is there")
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(judged("-bad", "two"))
		Expect(err).NotTo(HaveOccurred())
		bad := &unstructured.Unstructured{Object: object}
		delete(bad.Object, "status")
		bad.SetGroupVersionKind(
			schema.GroupVersionKind{Group: "evenkeel.dev", Version: "v1alpha1", Kind: "ClusterRegoPolicy"})
		Expect(unstructured.SetNestedField(bad.Object, "a while", "spec", "description", "takes")).To(Succeed())
		Expect(manager.Stop()).To(Succeed())
		suite.CleanUp(bad.GetName())
		unchecked(ctx, func() {
			// The API server takes a moment to go by another schema.
			Eventually(ctx, func() error { return suite.API.Create(ctx, bad.DeepCopy()) }).Should(Succeed())
			suite.CreatePolicy(ctx, judged("-later", "three"))
		})
		other := bad.DeepCopy()
		other.SetName(namespace + "-other")
		Eventually(ctx, func() error { return suite.API.Create(ctx, other.DeepCopy(), client.DryRunAll) }).
			Should(MatchError(ContainSubstring("spec.description in body must be of type string")))

		By("finding the others in force, and it named")
		Expect(manager.Start(ctx)).To(Succeed())
		suite.AwaitAdmission(ctx)
		inForce("-later")
		refuses("one")
		refuses("three")
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.API.Get(ctx, client.ObjectKeyFromObject(bad), bad)).To(Succeed())
			g.Expect(bad.Object["status"]).To(
				HaveKeyWithValue("conditions", ContainElement(And(HaveKeyWithValue("type", "Ready"),
					HaveKeyWithValue("status", "False"), HaveKeyWithValue("reason", v1alpha1.ReasonInvalid),
					HaveKeyWithValue("message", ContainSubstring("description"))))))
		}).Should(Succeed())
		Expect(bad.GetAnnotations()).NotTo(HaveKey(v1alpha1.AnnotationMalformed))
		log, err := os.ReadFile(manager.Log())
		Expect(err).NotTo(HaveOccurred())
		Expect(string(log)).To(And(ContainSubstring("isn't of its kind's form"), ContainSubstring(bad.GetName())))

		By("changing it while it is watched, and making another")
		Expect(suite.API.Patch(ctx, bad,
			client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"seen":"again"}}}`)))).To(Succeed())
		suite.CreatePolicy(ctx, judged("-last", "four"))
		inForce("-last")
		refuses("four")

		By("correcting it")
		Expect(suite.API.Patch(ctx, bad,
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"description":"it is text again"}}`)))).To(Succeed())
		inForce("-bad")
		refuses("two")
	})
})
