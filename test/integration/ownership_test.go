// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// requireTeam finds objects without the label team, and adds it.
const requireTeam = `package fixture.team

import rego.v1

missing if not input.object.metadata.labels.team

deny contains {"msg": "label team is missing", "path": "/metadata/labels"} if missing

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/team", "value": "shop"}]} if missing
`

var _ = Describe("An object that a controller makes", func() {
	var namespace string

	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "owned") })

	It("is left alone, and the fix goes to the root of its owners: Pod, ReplicaSet, Deployment",
		func(ctx context.Context) {
			deployment := fixture.Deployment(namespace, "web")
			suite.Create(ctx, deployment)
			pod := podOf(ctx, namespace)
			policy := fixture.Policy(namespace, namespace, requireTeam, fixture.Unselected, fixture.Kinds("", "Pod"),
				onlyPods, fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonOwnersNotified))
			record := suite.RecordOf(ctx, rem, pod.Name)
			Expect(record.State).To(Equal(v1alpha1.TargetSkipped))
			Expect(record.Reason).To(Equal(v1alpha1.ReasonOwned))
			set := pod.OwnerReferences[0].Name
			Expect(record.Message).To(
				Equal(fmt.Sprintf("Pod %s/%s is made by ReplicaSet %s of Deployment web: fix the Deployment", namespace,
					pod.Name, set)))
			Expect(record.Proposal).To(ContainSubstring("+    team: shop\n"))
			suite.AwaitEvent(ctx, "ManagedByOther", pod.Name, ContainSubstring("+    team: shop"))
			suite.AwaitEvent(ctx, "ManagedByOther", "web", ContainSubstring("fix the Deployment"))
			Expect(suite.Get(ctx, pod)).To(Succeed())
			Expect(pod.Labels).NotTo(HaveKey("team"))
		})

	It("names a custom kind at its root, the tool that manages it, and the permission to read it that is missing",
		func(ctx context.Context) {
			suite.Create(ctx, databases())
			DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, databases())).To(Succeed()) })
			database := &unstructured.Unstructured{
				Object: map[string]any{"apiVersion": "fixture.example.com/v1", "kind": "Database",
					"metadata": map[string]any{"name": "main", "namespace": namespace, "labels": map[string]any{
						"kustomize.toolkit.fluxcd.io/name":      "data",
						"kustomize.toolkit.fluxcd.io/namespace": "flux-system"}}}}
			Eventually(ctx, func() error { return suite.API.Create(ctx, database) }).Should(Succeed())
			parent := fixture.ConfigMap(namespace, "parent",
				fixture.ControlledBy(fixture.Controller("fixture.example.com/v1", "Database", database)))
			parent.Data["state"] = "good"
			suite.Create(ctx, parent)
			suite.Create(ctx, fixture.ConfigMap(
				namespace, "child", fixture.ControlledBy(fixture.Controller("v1", "ConfigMap", parent))))
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			record := suite.RecordOf(ctx, rem, "child")
			Expect(record.Message).To(And(
				ContainSubstring("is made by ConfigMap parent of Database.fixture.example.com main"),
				ContainSubstring(
					`grant the controller {apiGroups: ["fixture.example.com"], resources: ["databases"], verbs: ["get", "list"]}`)))
			Expect(record.Proposal).To(ContainSubstring("+  state: good\n"))

			By("a grant of that permission")
			reading := rbacv1.PolicyRule{APIGroups: []string{"fixture.example.com"}, Resources: []string{"databases"},
				Verbs: []string{"get", "list"}}
			grant(ctx, "reader", namespace+"-databases", reading)
			suite.AwaitPermission(ctx, "system:serviceaccount:evenkeel-system:evenkeel", reading)
			suite.Create(ctx, fixture.ConfigMap(
				namespace, "second", fixture.ControlledBy(fixture.Controller("v1", "ConfigMap", parent))))
			suite.AwaitEvent(ctx, "ManagedByOther", "second", And(
				ContainSubstring(
					"of Database.fixture.example.com main: Flux (Kustomization flux-system/data) manages the "+
						"Database.fixture.example.com: fix it at its source"),
				ContainSubstring("+  state: good")))
			suite.AwaitEvent(ctx, "ManagedByOther", "main", ContainSubstring("fix it at its source"))
			Expect(patchedObjects(namespace)).To(BeEmpty())
		})

	It("needs no plan of its own when the same policy judges its root", func(ctx context.Context) {
		deployment := fixture.Deployment(namespace, "web")
		suite.Create(ctx, deployment)
		pod := podOf(ctx, namespace)
		policy := fixture.Policy(namespace, namespace, requireTeam, fixture.Unselected, onlyPods,
			func(p *v1alpha1.ClusterRegoPolicy) {
				p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}},
					{APIGroups: []string{"apps"}, Kinds: []string{"Deployment"}}}
			}, fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts.Done).To(BeEquivalentTo(1))
		for _, record := range suite.Records(ctx, rem) {
			Expect(record.Object.Kind).To(Equal("Deployment"))
		}
		suite.AwaitEvent(ctx, "RemediationNotPlanned", policy.Name, ContainSubstring("1 Owned"))
		Expect(suite.Plans(ctx, policy.Name)).To(HaveLen(1))
		Expect(suite.Get(ctx, pod)).To(Succeed())
		Expect(pod.Labels).NotTo(HaveKey("team"))
	})
})

var _ = Describe("An object that another tool manages", func() {
	var namespace string
	marked := func() map[string][]func(client.Object) {
		return map[string][]func(client.Object){
			"Argo CD (application shop)": {
				fixture.Annotated("argocd.argoproj.io/tracking-id", "shop:/ConfigMap:shop/x"),
				fixture.Labelled("app.kubernetes.io/instance", "shop")},
			"Flux (Kustomization flux-system/apps)": {fixture.Labelled("kustomize.toolkit.fluxcd.io/name", "apps"),
				fixture.Labelled("kustomize.toolkit.fluxcd.io/namespace", "flux-system")},
			"Helm (release shop/web)": {fixture.Labelled("app.kubernetes.io/managed-by", "Helm"),
				fixture.Annotated("meta.helm.sh/release-name", "web"),
				fixture.Annotated("meta.helm.sh/release-namespace", "shop")},
			"Config Sync (RootSync root/sync)": {fixture.Annotated("configmanagement.gke.io/managed", "enabled"),
				fixture.Labelled("configmanagement.gke.io/sync-kind", "RootSync"),
				fixture.Labelled("configmanagement.gke.io/sync-namespace", "root"),
				fixture.Labelled("configmanagement.gke.io/sync-name", "sync")},
		}
	}
	nameOf := func(tool string) string {
		return strings.ToLower(strings.ReplaceAll(strings.SplitN(tool, " (", 2)[0], " ", "-"))
	}

	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "managed")
		for tool, marks := range marked() {
			suite.Create(ctx, fixture.ConfigMap(namespace, nameOf(tool), marks...))
		}
	})

	It("is left alone; its owner gets the fix as a diff, once, whatever the breakers say", func(ctx context.Context) {
		breaker := &v1alpha1.RemediationBreaker{}
		breaker.Name = v1alpha1.PolicyBreakerPrefix + namespace
		breaker.Spec = v1alpha1.RemediationBreakerSpec{
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopePolicy, Policy: namespace},
			Mode:  v1alpha1.BreakerForcedOpen}
		suite.Create(ctx, breaker)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonOwnersNotified))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Skipped: 4}))
		for tool := range marked() {
			record := suite.RecordOf(ctx, rem, nameOf(tool))
			Expect(record.Reason).To(Equal(v1alpha1.ReasonManaged), tool)
			Expect(record.Message).To(HavePrefix(tool+" manages this object"), tool)
			Expect(record.Proposal).To(
				And(ContainSubstring("# /data/state\n"), ContainSubstring("-  state: bad\n"),
					ContainSubstring("+  state: good\n")), tool)
			suite.AwaitEvent(ctx, "ManagedByOther", nameOf(tool),
				And(ContainSubstring(tool), ContainSubstring("+  state: good")))
		}
		Expect(patchedObjects(namespace)).To(BeEmpty())

		By("an object to fix beside them, once the breaker lets writes through")
		Expect(suite.Get(ctx, breaker)).To(Succeed())
		forced := breaker.DeepCopy()
		breaker.Spec.Mode = ""
		Expect(suite.API.Patch(ctx, breaker, client.MergeFrom(forced))).To(Succeed())
		suite.Create(ctx, fixture.ConfigMap(namespace, "mine"))
		Eventually(ctx, func(g Gomega) {
			plans := suite.Plans(ctx, policy.Name)
			g.Expect(plans).To(HaveLen(2))
			g.Expect(plans[1].Status.Phase).To(Equal(v1alpha1.PhaseSucceeded))
			g.Expect(plans[1].Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Skipped: 4}))
		}).Should(Succeed())

		By("one more object of a tool's, and no further plan of those that were told of")
		suite.Create(ctx, fixture.ConfigMap(namespace, "late", fixture.Labelled("argocd.argoproj.io/instance", "shop")))
		suite.AwaitEvent(ctx, "ManagedByOther", "late", ContainSubstring("Argo CD (application shop)"))
		plans := suite.Plans(ctx, policy.Name)
		Expect(plans).To(HaveLen(3))
		Expect(plans[2].Spec.Plan.Targets).To(BeEquivalentTo(5))
	})

	It("is known by who applied it, though it bears no mark; the common instance label alone is none",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "applied")
			for _, manager := range []string{"argocd-controller", "kustomize-controller", "helm-controller"} {
				Expect(suite.API.Create(ctx, fixture.ConfigMap(namespace, "of-"+manager), client.FieldOwner(manager))).
					To(
						Succeed())
			}
			chart := fixture.ConfigMap(namespace, "chart", fixture.Labelled("app.kubernetes.io/instance", "shop"))
			suite.Create(ctx, chart)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)

			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
			Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 1, Skipped: 3}))
			for manager, tool := range map[string]string{"argocd-controller": "Argo CD", "kustomize-controller": "Flux",
				"helm-controller": "Flux"} {
				record := suite.RecordOf(ctx, rem, "of-"+manager)
				Expect(record.Reason).To(Equal(v1alpha1.ReasonManaged), manager)
				Expect(record.Message).To(HavePrefix(tool + " (field manager " + manager + ") manages this object"))
			}
			Expect(patchedObjects(namespace)).To(ConsistOf(string(chart.UID)))
		})

	It("is fixed when the strategy says so, with a warning", func(ctx context.Context) {
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic,
				func(s *fixture.Rollout) { s.ManagedObjects = v1alpha1.ManagedRemediate }))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Done: 4}))
		for tool := range marked() {
			object := fixture.ConfigMap(namespace, nameOf(tool))
			Expect(suite.Get(ctx, object)).To(Succeed())
			Expect(object.Data).To(HaveKeyWithValue("state", "good"), tool)
			suite.AwaitEvent(ctx, "ManagedByOther", nameOf(tool),
				And(ContainSubstring(tool), ContainSubstring("may revert it")))
		}
	})
})

// onlyPods keeps a policy from judging pod templates.
func onlyPods(p *v1alpha1.ClusterRegoPolicy) {
	no := false
	p.Spec.Match.PodTemplates = &no
}

// podOf waits for the Pod of the namespace's Deployment.
func podOf(ctx context.Context, namespace string) *corev1.Pod {
	GinkgoHelper()
	pods := &corev1.PodList{}
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.API.List(ctx, pods, client.InNamespace(namespace))).To(Succeed())
		g.Expect(pods.Items).To(HaveLen(1))
		sets := &appsv1.ReplicaSetList{}
		g.Expect(suite.API.List(ctx, sets, client.InNamespace(namespace))).To(Succeed())
		g.Expect(sets.Items).To(HaveLen(1))
		g.Expect(sets.Items[0].Status.AvailableReplicas).To(BeEquivalentTo(1))
	}).Should(Succeed())
	return &pods.Items[0]
}

// databases is a custom kind that makes other objects.
func databases() *apiextensionsv1.CustomResourceDefinition {
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "databases.fixture.example.com"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "fixture.example.com", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "databases", Singular: "database", Kind: "Database", ListKind: "DatabaseList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{
					OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object"}}}},
		},
	}
}
