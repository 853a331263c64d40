// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

const uniqueState = `package evenkeel.unique

deny contains msg if {
	some namespace, name
	other := data.inventory.namespace[namespace].v1.ConfigMap[name]
	[namespace, name] != [input.object.metadata.namespace, input.object.metadata.name]
	other.data.state == input.object.data.state
	msg := sprintf("%s/%s has the state %s already", [namespace, name, input.object.data.state])
}
`

const knownNamespace = `package evenkeel.known

deny contains "its namespace is known" if {
	input.object.data.state == "bad"
	data.inventory.cluster.v1.Namespace[input.object.metadata.namespace]
}
`

// referring makes a policy refer to kinds.
func referring(kinds ...v1alpha1.ReferencedKind) fixture.PolicyModifier {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Match.References = kinds }
}

// awaitReferences waits until a policy's status says whether what it refers to is known, and why.
func awaitReferences(ctx context.Context, policy string, status metav1.ConditionStatus, reason, says string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		c := meta.FindStatusCondition(suite.Policy(ctx, policy).Status.Conditions, v1alpha1.ConditionReferencesKnown)
		g.Expect(c).NotTo(BeNil())
		g.Expect(c.Status).To(Equal(status), c.Message)
		g.Expect(c.Reason).To(Equal(reason))
		g.Expect(c.Message).To(ContainSubstring(says))
	}).Should(Succeed())
}

var _ = Describe("A policy that refers to other objects", func() {
	var namespace, other string
	state := func(in, name, value string) client.Object {
		object := fixture.ConfigMap(in, name)
		object.Data["state"] = value
		return object
	}
	configMaps := v1alpha1.ReferencedKind{Kind: "ConfigMap"}

	BeforeEach(func(ctx context.Context) {
		namespace, other = suite.Namespace(ctx, "references"), suite.Namespace(ctx, "referred")
	})

	It("judges at admission by what lives elsewhere, as it is now", func(ctx context.Context) {
		red, blue := "red in "+namespace, "blue in "+namespace // other specs leave objects behind for a moment
		taken := state(other, "first", red)
		suite.Create(ctx, taken)
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, uniqueState, referring(configMaps),
			fixture.Enforced(v1alpha1.AdmissionDeny)))
		awaitRefusal(ctx, state(namespace, "second", red),
			ContainSubstring(other+"/first has the state "+red+" already"))
		Expect(suite.API.Create(ctx, state(namespace, "second", blue))).To(Succeed())
		Expect(suite.API.Delete(ctx, taken)).To(Succeed())
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, state(namespace, "third", red), client.DryRunAll)
		}).Should(Succeed())
	})

	It("is judged anew by the scan when what it refers to changes", func(ctx context.Context) {
		suite.Create(ctx, state(namespace, "mine", "green"))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, uniqueState, referring(configMaps)))
		violating := func(n int) func(Gomega, *v1alpha1.ScanStatus) {
			return func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				g.Expect(s.Violating).To(BeEquivalentTo(n))
			}
		}
		suite.AwaitScan(ctx, namespace, violating(0))
		theirs := state(other, "theirs", "green")
		suite.Create(ctx, theirs)
		suite.AwaitScan(ctx, namespace, violating(1))
		Expect(suite.API.Delete(ctx, theirs)).To(Succeed())
		suite.AwaitScan(ctx, namespace, violating(0))
	})

	It("passes nothing while a kind that it refers to isn't known", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, uniqueState,
			referring(configMaps, v1alpha1.ReferencedKind{APIGroup: "absent.example", Kind: "Widget"}),
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyFail)))
		awaitRefusal(ctx, state(namespace, "any", "red"),
			And(ContainSubstring("Widget of group absent.example isn't served"),
				ContainSubstring("spec.match.references")))
		awaitReferences(ctx, namespace, metav1.ConditionFalse, v1alpha1.ReasonNotServed, "Widget.absent.example")
		suite.Create(ctx, fixture.ConfigMap(other, "explained"))
		explained, _, _ := evenkeel(ctx, "explain", "cm/explained", "-n", other)
		Expect(explained).NotTo(ContainSubstring(namespace))
		suite.UpdatePolicy(ctx, suite.Policy(ctx, namespace), func(wide *v1alpha1.ClusterRegoPolicy) {
			wide.Spec.Match.Namespaces = append(wide.Spec.Match.Namespaces, other)
		})
		explained, _, _ = evenkeel(ctx, "explain", "cm/explained", "-n", other)
		Expect(explained).To(ContainSubstring("the manager doesn't evaluate it: NotServed"))
	})

	It("counts a kind as unknown that doesn't fit into memory, and no other", func(ctx context.Context) {
		restartWith(ctx, "--reference-max-memory=1Mi")
		judged := suite.Namespace(ctx, "judged")
		suite.CreatePolicy(ctx, fixture.Policy(judged, judged, knownNamespace,
			referring(v1alpha1.ReferencedKind{Kind: "Namespace"}), fixture.Enforced(v1alpha1.AdmissionDeny)))
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, uniqueState, referring(configMaps),
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyFail)))
		awaitRefusal(ctx, state(judged, "any", "bad"), ContainSubstring("its namespace is known"))
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, state(namespace, "any", "red"), client.DryRunAll)
		}).Should(Succeed())

		By("a flood of them")
		for i := range 20 {
			suite.Create(ctx, state(other, fmt.Sprintf("flood-%d", i), strings.Repeat("x", 100_000)))
		}
		awaitRefusal(ctx, state(namespace, "any", "red"), And(ContainSubstring("ConfigMap"),
			ContainSubstring("--reference-max-memory=1Mi"), ContainSubstring("fields"), ContainSubstring("selector")))
		awaitReferences(ctx, namespace, metav1.ConditionFalse, v1alpha1.ReasonTooLarge, "--reference-max-memory=1Mi")
		awaitReferences(ctx, judged, metav1.ConditionTrue, v1alpha1.ReasonListed, "Namespace")
		Expect(suite.API.Create(ctx, state(judged, "any", "bad"), client.DryRunAll)).To(
			MatchError(ContainSubstring("its namespace is known")))

		By("its end")
		Expect(suite.API.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(other))).To(Succeed())
		suite.CreatePolicy(ctx, fixture.Policy(other, other, knownNamespace,
			referring(v1alpha1.ReferencedKind{Kind: "Node"}, v1alpha1.ReferencedKind{Kind: "Namespace"})))
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, state(namespace, "any", "red"), client.DryRunAll)
		}).Should(Succeed())
		awaitReferences(ctx, namespace, metav1.ConditionTrue, v1alpha1.ReasonListed, "ConfigMap")
	})

	DescribeTable("says at apply what can't be referred to",
		func(ctx context.Context, kind v1alpha1.ReferencedKind, why string) {
			p := fixture.Policy(namespace, namespace, uniqueState, referring(kind))
			Expect(suite.API.Create(ctx, p, client.DryRunAll)).To(MatchError(ContainSubstring(why)))
		},
		Entry("Secrets", v1alpha1.ReferencedKind{Kind: "Secret"}, "a Secret can't be referenced"),
		Entry("any kind", v1alpha1.ReferencedKind{Kind: "*"}, `kind can't be "*"`),
		Entry("any group", v1alpha1.ReferencedKind{APIGroup: "*", Kind: "Service"}, `apiGroup can't be "*"`),
		Entry("a field that is no name", v1alpha1.ReferencedKind{Kind: "Service", Fields: []string{"spec.ports[0]"}},
			"fields"),
	)

	It("says at apply that it looks up what it doesn't refer to", func(ctx context.Context) {
		p := fixture.Policy(namespace, namespace, uniqueState)
		Expect(suite.API.Create(ctx, p, client.DryRunAll)).To(
			MatchError(ContainSubstring("match.references names none")))
	})
})
