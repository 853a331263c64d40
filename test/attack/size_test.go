// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// noPrivilege finds what asks for privilege, in a Pod or in a Blob.
const noPrivilege = `package attack.no_privilege

import rego.v1

deny contains "it is privileged" if input.object.spec.containers[_].securityContext.privileged

deny contains "it is privileged" if input.object.spec.privileged
`

// failingOpen is a Deny policy that lets pass while nobody answers.
func failingOpen(namespace, rego string, kinds fixture.PolicyModifier) *v1alpha1.ClusterRegoPolicy {
	return fixture.Policy(namespace, namespace, rego, kinds, fixture.Unselected,
		fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyIgnore))
}

func privilegedPod(namespace, name, argument string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "a", Image: "example.com/a:1", Args: []string{argument},
			SecurityContext: &corev1.SecurityContext{Privileged: ptr.To(true)},
		}}},
	}
}

// blobs is a kind that takes whatever is sent.
func blobs() *apiextensionsv1.CustomResourceDefinition {
	spec := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "blobs.attack.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "attack.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "blobs", Singular: "blob", Kind: "Blob",
				ListKind: "BlobList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", Properties: map[string]apiextensionsv1.JSONSchemaProps{"spec": spec}}}}},
		},
	}
}

// blob sends JSON as it is, as a dry run: no client's own limits stand before it.
func blob(ctx context.Context, namespace, spec string) error {
	body := `{"apiVersion":"attack.example.com/v1","kind":"Blob","metadata":{"name":"a","namespace":"` + namespace +
		`"},"spec":` + spec + `}`
	api, err := discovery.NewDiscoveryClientForConfig(suite.Config())
	Expect(err).NotTo(HaveOccurred())
	return api.RESTClient().Post().AbsPath("/apis/attack.example.com/v1/namespaces/"+namespace+"/blobs").
		Param("dryRun", metav1.DryRunAll).SetHeader("Content-Type", runtime.ContentTypeJSON).Body([]byte(body)).Do(
		ctx).Error()
}

var _ = Describe("An object that is hard to read", func() {
	It("is judged although its review is six times as large as what was sent", func(ctx context.Context) {
		attempt("create a privileged Pod of 1.45 MB, and update a ConfigMap of 0.8 MB, of characters that JSON escapes")
		namespace := suite.Namespace(ctx, "escaped")
		suite.CreatePolicy(ctx, failingOpen(namespace, noPrivilege, fixture.Kinds("", "Pod")))
		awaitRefusal(ctx, privilegedPod(namespace, "small", "run"), ContainSubstring("it is privileged"))
		large := privilegedPod(namespace, "large", strings.Repeat("<", 1_450_000))
		Expect(suite.API.Create(ctx, large)).To(MatchError(ContainSubstring("refused by policy " + namespace)))

		other := suite.Namespace(ctx, "escaped-update")
		suite.CreatePolicy(ctx, failingOpen(other, fixture.DenyState("bad"), fixture.Kinds("", "ConfigMap")))
		awaitRefusal(ctx, fixture.ConfigMap(other, "small"), ContainSubstring("refused by policy "+other))
		c := fixture.ConfigMap(other, "large")
		c.Data = map[string]string{"state": "good", "text": strings.Repeat("<", 800_000)}
		Expect(suite.API.Create(ctx, c)).To(Succeed())
		c.Data["state"] = "bad"
		Expect(suite.API.Update(ctx, c)).To(MatchError(ContainSubstring("refused by policy " + other)))
	})

	It("is judged as deep as the API server takes it, and refused by name where it can't be read",
		func(ctx context.Context) {
			attempt("nest an object 9,998 deep; have one hold 200,000 values")
			definition := blobs()
			Expect(suite.API.Create(ctx, definition)).To(Succeed())
			DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, definition)).To(Succeed()) })
			namespace := suite.Namespace(ctx, "deep")
			Eventually(ctx, func() error { return blob(ctx, namespace, `{}`) }).Should(Succeed())
			suite.CreatePolicy(ctx, failingOpen(namespace, noPrivilege, fixture.Kinds("attack.example.com", "Blob")))
			Eventually(ctx, func() error {
				return blob(ctx, namespace, `{"privileged":true}`)
			}).Should(MatchError(ContainSubstring("it is privileged")))

			By("sending what can be read, and is judged")
			nested := strings.Repeat("[", 9997) + strings.Repeat("]", 9997)
			Expect(blob(ctx, namespace, `{"privileged":true,"deep":`+nested+`}`)).To(
				MatchError(ContainSubstring("it is privileged")))
			Expect(blob(ctx, namespace, `{"deep":`+nested+`}`)).To(Succeed())

			By("sending what can't be read")
			unread := ContainSubstring("is refused because it can't be judged")
			refusal := And(MatchError(unread), MatchError(ContainSubstring("policy "+namespace)),
				MatchError(ContainSubstring("(Medium)")))
			Expect(blob(ctx, namespace, `{"many":[`+strings.Repeat("{},", 200_000)+`{}]}`)).To(refusal)

			By("sending it where no policy would refuse it")
			Expect(blob(ctx, "default", `{"many":[`+strings.Repeat("{},", 200_000)+`{}]}`)).To(Succeed())
		})
})
