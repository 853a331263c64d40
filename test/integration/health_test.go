// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// smallWidgets finds widgets that aren't large, and makes them so.
const smallWidgets = `package fixture.widgets

import rego.v1

small if input.object.spec.size != "large"

deny contains {"msg": "the widget is small", "path": "/spec/size"} if small

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/spec/size", "value": "large"}]} if small
`

var _ = Describe("A custom resource without conditions", Ordered, func() {
	var namespace string
	var policy *v1alpha1.ClusterRegoPolicy
	widget := func(name, phase string) *unstructured.Unstructured {
		w := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "health.example.com/v1", "kind": "Widget",
			"metadata": map[string]any{"name": name, "namespace": namespace}, "spec": map[string]any{"size": "small"}}}
		if phase != "" {
			w.Object["status"] = map[string]any{"phase": phase}
		}
		return w
	}
	become := func(ctx context.Context, w *unstructured.Unstructured, phase string) {
		GinkgoHelper()
		Expect(suite.API.Patch(ctx, w,
			client.RawPatch("application/merge-patch+json", []byte(`{"status":{"phase":"`+phase+`"}}`)))).To(Succeed())
	}

	BeforeAll(func(ctx context.Context) {
		suite.Create(ctx, widgets())
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, widgets())).To(Succeed()) })
		namespace = suite.Namespace(ctx, "health")
		grantVerbs(ctx, namespace+"-widgets", "health.example.com", "widgets", "get", "list", "watch", "patch")
		Eventually(ctx, func() error { return suite.API.Create(ctx, widget("one", "")) }).Should(Succeed())
		policy = fixture.Policy(namespace, namespace, smallWidgets, fixture.Unselected,
			fixture.Kinds("health.example.com", "Widget"), fixture.Remediated(v1alpha1.RemediationAutomatic))
	})

	It("holds its plan before the first write, until a rule of the strategy verifies, and rolls back",
		func(ctx context.Context) {
			Eventually(ctx, func() error {
				return suite.API.Create(ctx, policy.DeepCopy(), client.DryRunAll)
			}).Should(Succeed())
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonHealthUnknown))
			Expect(rem.Status.Message).To(
				And(ContainSubstring("no rule defines the health of a Widget.health.example.com"),
					ContainSubstring("health.unknown: Allow")))
			one := widget("one", "")
			Expect(suite.Get(ctx, one)).To(Succeed())
			Expect(one.Object["spec"]).To(HaveKeyWithValue("size", "small"))

			By("a rule that is wrong, which admission refuses")
			Eventually(ctx, func() error { // the scan writes its status meanwhile
				current := &v1alpha1.RemediationStrategy{ObjectMeta: metav1.ObjectMeta{Name: policy.Name}}
				if err := suite.Get(ctx, current); err != nil {
					return err
				}
				current.Spec.Health = &v1alpha1.HealthStrategy{
					Rules: []v1alpha1.HealthRule{{APIGroup: "health.example.com", Kind: "Widget", Current: "self.ok"}}}
				return suite.API.Update(ctx, current)
			}).Should(MatchError(ContainSubstring("the object is called object")))

			By("a rule that is right, and a widget that breaks after its write")
			become(ctx, one, "Running")
			suite.UpdateStrategy(ctx, policy.Name, func(s *v1alpha1.RemediationStrategySpec) {
				s.Health = &v1alpha1.HealthStrategy{
					Rules: []v1alpha1.HealthRule{{APIGroup: "health.example.com", Kind: "Widget",
						Current: "object.status.phase == 'Running'", Failed: "object.status.phase == 'Broken'"}}}
				s.Steps[0].Soak = &metav1.Duration{Duration: time.Minute}
			})
			Eventually(ctx, func(g Gomega) {
				g.Expect(suite.Get(ctx, one)).To(Succeed())
				g.Expect(one.Object["spec"]).To(HaveKeyWithValue("size", "large"))
			}).Should(Succeed())
			become(ctx, one, "Broken")
			rem = suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			Expect(rem.Status.Message).To(ContainSubstring("object.status.phase == 'Broken'"))
			Expect(suite.Get(ctx, one)).To(Succeed())
			Expect(one.Object["spec"]).To(HaveKeyWithValue("size", "small"))
		})

	It("is fixed by the policy's verdict alone where the strategy says so", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "allowed")
		w := widget("two", "")
		w.SetNamespace(namespace)
		suite.Create(ctx, w)
		allowed := fixture.Policy(namespace, namespace,
			strings.ReplaceAll(smallWidgets, "fixture.widgets", "fixture.allowed"), fixture.Unselected,
			fixture.Kinds("health.example.com", "Widget"),
			fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
				s.Health = &v1alpha1.HealthStrategy{Unknown: v1alpha1.UnknownHealthAllow}
			}))
		suite.CreatePolicy(ctx, allowed)
		rem := suite.AwaitPhase(ctx, allowed.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts.Done).To(BeEquivalentTo(1))
		Expect(suite.RecordOf(ctx, rem, "two").Write.HealthBefore).To(Equal("Unknown"))
	})
})

// widgets is a custom kind whose controller tells a phase and nothing else.
func widgets() *apiextensionsv1.CustomResourceDefinition {
	keep := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets.health.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "health.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget",
				ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &keep}}}},
		},
	}
}
