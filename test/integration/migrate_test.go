// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/manifest"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
	"evenkeel.dev/evenkeel/test/fixture"
)

// constraintTemplate is a ConstraintTemplate of a name and kind with a rule.
func constraintTemplate(name, kind, rule string) string {
	return fmt.Sprintf(`apiVersion: templates.gatekeeper.sh/v1
kind: ConstraintTemplate
metadata: {name: %s}
spec:
  crd: {spec: {names: {kind: %s}}}
  targets:
  - target: admission.k8s.gatekeeper.sh
    rego: |
      package rule

      %s
---
`, name, kind, strings.ReplaceAll(rule, "\n", "\n      "))
}

// constraintOf is a constraint of a kind with a match.
func constraintOf(kind, name, match string) string {
	return fmt.Sprintf("apiVersion: constraints.gatekeeper.sh/v1beta1\nkind: %s\nmetadata: {name: %s}\n"+
		"spec: {match: %s}\n---\n", kind, name, match)
}

// migrate puts in force what Gatekeeper's objects become, changed as a person may, and gives the policies.
func migrate(ctx context.Context, text string,
	change ...func(*v1alpha1.ClusterRegoPolicy)) []*v1alpha1.ClusterRegoPolicy {
	GinkgoHelper()
	documents, err := manifest.Read(ctx, []string{"-"}, strings.NewReader(text), manifest.Options{})
	Expect(err).NotTo(HaveOccurred())
	var policies []*v1alpha1.ClusterRegoPolicy
	for _, item := range gatekeeper.Migrate(documents, gatekeeper.Options{Owner: "platform",
		Runbook: "https://example.com/NAME", Severity: v1alpha1.SeverityHigh}) {
		Expect(item.State).To(Equal(gatekeeper.Migrated), "%s: %q", item.Object, item.Notes)
		if item.Template != nil {
			suite.CreateTemplate(ctx, item.Template)
		}
		if item.Policy != nil {
			for _, c := range change {
				c(item.Policy)
			}
			policies = append(policies, item.Policy)
		}
	}
	for _, p := range policies {
		suite.CreatePolicy(ctx, p)
	}
	return policies
}

// readsAll lets the manager read all kinds until the end of the spec, as "evenkeel rbac" would one by one.
func readsAll(ctx context.Context, name string) {
	GinkgoHelper()
	all := rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"},
		Verbs: []string{"get", "list", "watch"}}
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name + "-reads",
		Labels: map[string]string{"rbac.evenkeel.dev/aggregate-to-reader": "true"}}, Rules: []rbacv1.PolicyRule{all}}
	Expect(suite.API.Create(ctx, role)).To(Succeed())
	DeferCleanup(func(ctx context.Context) {
		Expect(suite.API.Delete(ctx, role)).To(Succeed())
		reader := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "evenkeel-reader"}}
		Eventually(ctx, func(g Gomega) { // other specs count on what it may not read
			g.Expect(suite.Get(ctx, reader)).To(Succeed())
			g.Expect(reader.Rules).NotTo(ContainElement(all))
		}).Should(Succeed())
	})
}

var _ = Describe("What Gatekeeper enforced", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "gatekeeper") })

	It("has names with dots and of any length, of which policies, plans and breakers are made",
		func(ctx context.Context) {
			dotted := namespace + ".team.example.com"
			long := dotted + "." + strings.Repeat("a.", 30) + "b"
			suite.Create(ctx, fixture.ConfigMap(namespace, "old"))
			fix := `violation[{"msg": "state must be good"}] { input.review.object.data.state != "good" }`
			match := "{kinds: [{apiGroups: [''], kinds: [ConfigMap]}], namespaces: [" + namespace + "]}"
			policies := migrate(ctx, constraintTemplate(dotted, "Dotted", fix)+constraintOf("Dotted", dotted, match)+
				constraintOf("Dotted", long, match))
			Expect(policies[0].Name).To(Equal(dotted))
			Expect(policies[1].Spec.Description).To(ContainSubstring(long))
			for _, p := range policies {
				awaitRefusal(ctx, fixture.ConfigMap(namespace, "new"),
					And(ContainSubstring(p.Name), ContainSubstring("state must be good")))
				suite.AwaitScan(ctx, p.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
					g.Expect(s.Violating).To(BeEquivalentTo(1))
				})
				suite.RemovePolicy(ctx, p.Name)
			}
			for i, p := range policies {
				Eventually(ctx, func() error { // nobody refuses it any more
					return suite.API.Create(ctx, fixture.ConfigMap(namespace, fmt.Sprintf("bad-%d", i)))
				}).Should(Succeed())
				suite.CreatePolicy(ctx, fixture.Policy(p.Name, namespace, fixture.FixState,
					fixture.Remediated(v1alpha1.RemediationAutomatic)))
				rem := suite.AwaitPhase(ctx, p.Name, v1alpha1.PhaseSucceeded)
				Expect(rem.Name).To(HavePrefix(p.Name + "-"))
				Expect(breakerOf(ctx, v1alpha1.PolicyBreakerPrefix+p.Name)).NotTo(BeNil())
				suite.RemovePolicy(ctx, p.Name) // it would fix what the next one is to fix
			}
		})

	It("isn't said to be unjudged where a built-in function fails, as every rule of Evenkeel's own is",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "old"))
			rule := `violation[{"msg": "state must be a number"}] { not to_number(input.review.object.data.state) }`
			p := migrate(ctx, constraintTemplate(namespace, "Numbered", rule)+constraintOf("Numbered", namespace,
				"{kinds: [{apiGroups: [''], kinds: [ConfigMap]}], labelSelector: {matchLabels: {fixture: target}}, "+
					"namespaces: ["+namespace+"]}"))[0]
			awaitRefusal(ctx, fixture.ConfigMap(namespace, "new"), ContainSubstring("state must be a number"))
			scanned := func(errors int) {
				suite.AwaitScan(ctx, p.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
					g.Expect(s.Violating).To(BeEquivalentTo(1))
					g.Expect(s.Errors).To(BeEquivalentTo(errors))
				})
			}
			scanned(0)
			was := awaitRevision(ctx, p.Name).Status.Revision
			changeTemplate(ctx, suite.API, namespace, func(t *v1alpha1.RegoTemplate) {
				t.Spec.Rego.StrictBuiltinErrors = nil
			})
			scanned(1)
			Eventually(ctx, func() string { return suite.Policy(ctx, p.Name).Status.Revision }).ShouldNot(Equal(was))
		})

	It("is asked of what lives in the cluster before anything is migrated: scan -p takes the files as they are",
		func(ctx context.Context) {
			suite.Create(ctx, fixture.ConfigMap(namespace, "bad"), good(namespace))
			match := "kinds: [{apiGroups: [''], kinds: [ConfigMap]}]"
			file := filepath.Join(GinkgoT().TempDir(), "gatekeeper.yaml")
			Expect(os.WriteFile(file, []byte(
				constraintTemplate("good", "Good",
					`violation[{"msg": "state must be good"}] { input.review.object.data.state != "good" }`)+
					constraintOf("Good", "as.it.is", "{"+match+", namespaces: ["+namespace+"]}")+
					constraintOf("Good", "by-name", "{"+match+", name: bad}")), 0o600)).To(Succeed())
			_, told, code := evenkeel(ctx, "scan", "-p", file, "-o", "json")
			Expect(code).To(Equal(3), "a constraint that nothing is judged by is no pass: %s", told)
			Expect(told).To(ContainSubstring("Good/by-name is left out"))
			out, told, code := evenkeel(ctx, "scan", "-p", file, "-o", "json", "--skip", "by-name")
			Expect(code).To(Equal(1), told)
			var report struct {
				Results []struct {
					Violations []struct{ Message string }
				}
			}
			Expect(json.Unmarshal([]byte(out), &report)).To(Succeed())
			Expect(report.Results).To(HaveLen(1), out)
			Expect(out).To(ContainSubstring("as.it.is"))
			Expect(report.Results[0].Violations[0].Message).To(Equal("state must be good"))
		})

	It("concerns every kind where it names none: those of Kubernetes and of the CustomResourceDefinitions given",
		func(ctx context.Context) {
			config := func(name string, labels map[string]string) *corev1.ConfigMap {
				c := fixture.ConfigMap(namespace, name)
				c.Labels = labels
				return c
			}
			labels := map[string]string{"of": namespace}
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "b",
				Labels: labels}}
			service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "c", Labels: labels},
				Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: labels}}
			suite.Create(ctx, config("a", labels), config("other", nil), lease, service, role)
			rule := `violation[{"msg": "name its team"}] { not input.review.object.metadata.labels.team }`
			selector := "labelSelector: {matchLabels: {of: " + namespace + "}}"
			policies := migrate(ctx, constraintTemplate(namespace, "Teamed", rule)+
				constraintOf("Teamed", namespace+".all", "{"+selector+"}")+
				constraintOf("Teamed", namespace+".namespaced", "{scope: Namespaced, "+selector+"}")+
				constraintOf("Teamed", namespace+".cluster", "{scope: Cluster, "+selector+"}"))
			readsAll(ctx, namespace)
			for i, violating := range []int{3, 2, 1} { // the ConfigMap, the Service, the ClusterRole
				suite.AwaitScan(ctx, policies[i].Name, func(g Gomega, s *v1alpha1.ScanStatus) {
					g.Expect(s.State).To(Equal(v1alpha1.ScanComplete), "%+v", s)
					g.Expect(s.Violating).To(BeEquivalentTo(violating), policies[i].Name)
				})
			}
			awaitRefusal(ctx, config("new", labels), And(ContainSubstring(".all"), ContainSubstring(".namespaced"),
				Not(ContainSubstring(".cluster"))))
			another := role.DeepCopy()
			another.Name, another.ResourceVersion = namespace+"-b", ""
			awaitRefusal(ctx, another, And(ContainSubstring(".all"), ContainSubstring(".cluster"),
				Not(ContainSubstring(".namespaced"))))
			again := lease.DeepCopy()
			again.Name, again.ResourceVersion = "d", ""
			Expect(suite.API.Create(ctx, again, client.DryRunAll)).To(Succeed())
		})

	It("knows every kind that Kubernetes stores and lists, and its scope", func() {
		settings, err := clientcmd.BuildConfigFromFlags("", suite.Kubeconfig)
		Expect(err).NotTo(HaveOccurred())
		served, err := discovery.NewDiscoveryClientForConfigOrDie(settings).ServerPreferredResources()
		Expect(err).NotTo(HaveOccurred())
		var kinds []gatekeeper.Kind
		for _, list := range served {
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			Expect(err).NotTo(HaveOccurred())
			if strings.Contains(version.Group, ".") && !strings.HasSuffix(version.Group, ".k8s.io") {
				continue // of a CustomResourceDefinition
			}
			for _, r := range list.APIResources {
				if gatekeeper.Judged(version.Group, r.Kind) && slices.Contains(r.Verbs, "list") {
					scope := map[bool]string{true: "Namespaced", false: "Cluster"}[r.Namespaced]
					kinds = append(kinds, gatekeeper.Kind{Group: version.Group, Kind: r.Kind, Scope: scope})
				}
			}
		}
		Expect(gatekeeper.BuiltIn()).To(ConsistOf(kinds))
	})
})
