// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

const widgetGroup = "specs.example.com"

// widgetDefinition defines a kind of the spec's own.
func widgetDefinition() *apiextensionsv1.CustomResourceDefinition {
	yes := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "widgets." + widgetGroup},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: widgetGroup, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "widgets", Singular: "widget", Kind: "Widget",
				ListKind: "WidgetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &yes,
				}},
			}},
		},
	}
}

func widget(namespace, name string) *unstructured.Unstructured {
	w := &unstructured.Unstructured{Object: map[string]any{"data": map[string]any{"state": "bad"}}}
	w.SetAPIVersion(widgetGroup + "/v1")
	w.SetKind("Widget")
	w.SetNamespace(namespace)
	w.SetName(name)
	w.SetLabels(fixture.TargetLabels())
	return w
}

// define creates the kind and waits until its objects can be created.
func define(ctx context.Context, namespace string) {
	GinkgoHelper()
	suite.Create(ctx, widgetDefinition())
	Eventually(ctx, func() error {
		return suite.API.Create(ctx, widget(namespace, "probe"), client.DryRunAll)
	}).Should(Succeed())
}

func undefine(ctx context.Context) {
	GinkgoHelper()
	Expect(client.IgnoreNotFound(suite.API.Delete(ctx, widgetDefinition()))).To(Succeed())
	Eventually(ctx, func() bool {
		return apierrors.IsNotFound(suite.Get(ctx, widgetDefinition()))
	}).Should(BeTrue())
}

var _ = Describe("The scan", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "scan") })

	It("says Incomplete with the rule to add for a kind that it may not list or that isn't served, and follows when "+
		"it is", func(ctx context.Context) {
		define(ctx, namespace)
		DeferCleanup(undefine)
		suite.Create(ctx, widget(namespace, "one"))
		policy := fixture.Policy(namespace, namespace, fixture.DenyState("bad"), fixture.Kinds(widgetGroup, "Widget"))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanIncomplete))
			g.Expect(s.Incomplete).To(HaveLen(1))
			g.Expect(s.Incomplete[0].Kind).To(Equal("Widget"))
			g.Expect(s.Incomplete[0].Message).To(ContainSubstring(
				`{apiGroups: ["specs.example.com"], resources: ["widgets"], verbs: ["get", "list", "watch"]}`))
		})
		suite.AwaitEvent(ctx, "ScanIncomplete", policy.Name, ContainSubstring("Widget of group "+widgetGroup))

		By("granting the permission")
		grant(ctx, "reader", namespace,
			rbacv1.PolicyRule{APIGroups: []string{widgetGroup}, Resources: []string{"widgets"},
				Verbs: []string{"get", "list", "watch"}})
		suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
			g.Expect(s.Violating).To(BeEquivalentTo(1))
			g.Expect(s.Sample[0].Object.Name).To(Equal("one"))
		})

		By("taking the kind away")
		undefine(ctx)
		suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanIncomplete))
			g.Expect(s.Incomplete[0].Message).To(ContainSubstring("install its CustomResourceDefinition"))
		})

		By("changing the policy meanwhile")
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Admission.Action = v1alpha1.AdmissionAudit
		})
		other := widgetDefinition().Spec.Names.Kind + "s"
		Expect(suite.API.Patch(ctx, policy.DeepCopy(), client.RawPatch(types.JSONPatchType, []byte(
			`[{"op": "add", "path": "/spec/match/kinds/0/kinds/-", "value": "`+other+`"}]`)))).To(
			MatchError(ContainSubstring("serves no kind %q", other)))

		By("bringing it back")
		define(ctx, namespace)
		suite.Create(ctx, widget(namespace, "two"), widget(namespace, "three"))
		suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
			g.Expect(s.Violating).To(BeEquivalentTo(2))
		})
	})

	It("follows objects and policies as they change", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		policy := fixture.Policy(namespace, namespace, fixture.DenyState("bad"))
		suite.CreatePolicy(ctx, policy)
		violating := func(scanned, n int) {
			GinkgoHelper()
			suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				g.Expect([]int32{s.Scanned, s.Violating}).To(Equal([]int32{int32(scanned), int32(n)}))
			})
		}
		violating(3, 3)
		suite.AwaitEvent(ctx, "ViolationFound", policy.Name, ContainSubstring("3 of 3 objects violate"))
		Expect(suite.API.Delete(ctx, fixture.ConfigMap(namespace, "target-0"))).To(Succeed())
		violating(2, 2)
		fix := client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"good"}}`))
		Expect(suite.API.Patch(ctx, fixture.ConfigMap(namespace, "target-1"), fix)).To(Succeed())
		violating(2, 1)
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main = fixture.DenyState("none")
		})
		violating(2, 0)
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main = fixture.DenyState("good")
		})
		violating(2, 1)
		suite.Create(ctx, good(namespace))
		violating(3, 2)
		suite.AwaitEvent(ctx, "ViolationFound", "good", ContainSubstring("state must not be good"))
	})

	It("finds drift, and it is fixed again by a plan of its own", func(ctx context.Context) {
		suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		drifted := fixture.ConfigMap(namespace, "target-0")
		back := client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"bad"}}`))
		Expect(suite.API.Patch(ctx, drifted, back)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.Get(ctx, drifted)).To(Succeed())
			g.Expect(drifted.Data).To(Equal(map[string]string{"state": "good", "patched": "2"}))
			g.Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(2))
		}).Should(Succeed())
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Spec.Plan.Targets).To(BeEquivalentTo(1))
	})
})
