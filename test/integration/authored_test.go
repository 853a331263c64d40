// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"os"
	"regexp"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/policies"
	"evenkeel.dev/evenkeel/test/rig"
)

// smallest finds the policy that docs/write-a-policy.md begins with.
var smallest = regexp.MustCompile("(?ms)^`smallest.yaml`\n```yaml\n(.*?)^```$")

var _ = Describe("What is authored", func() {
	// manifests are the smallest policy of the documentation and those of the library, as
	// evenkeel build prints them, for a namespace that isn't there.
	manifests := func() []*unstructured.Unstructured {
		GinkgoHelper()
		page, err := os.ReadFile("../../docs/write-a-policy.md")
		Expect(err).NotTo(HaveOccurred())
		found := smallest.FindSubmatch(page)
		Expect(found).NotTo(BeNil(), "docs/write-a-policy.md begins with smallest.yaml")
		texts := [][]byte{found[1]}
		library, err := directory.Load(policies.FS, ".")
		Expect(err).NotTo(HaveOccurred())
		Expect(len(library)).To(BeNumerically(">=", 9))
		for _, p := range library {
			p.Spec.Match.Namespaces = []string{"nowhere"}
			text, err := directory.Render([]*v1alpha1.ClusterRegoPolicy{p})
			Expect(err).NotTo(HaveOccurred())
			texts = append(texts, text)
		}
		var out []*unstructured.Unstructured
		for _, text := range texts {
			object := &unstructured.Unstructured{}
			Expect(yaml.Unmarshal(text, &object.Object)).To(Succeed())
			out = append(out, object)
		}
		return out
	}

	// isInForce waits until the manager has looked at a policy, and written all it has to.
	isInForce := func(ctx context.Context, name string) *unstructured.Unstructured {
		GinkgoHelper()
		Eventually(ctx, func(g Gomega) {
			p := &v1alpha1.ClusterRegoPolicy{}
			g.Expect(suite.API.Get(ctx, client.ObjectKey{Name: name}, p)).To(Succeed())
			g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
			g.Expect(p.Status.Revision).NotTo(BeEmpty())
		}).Should(Succeed())
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ClusterRegoPolicy"))
		Expect(suite.API.Get(ctx, client.ObjectKey{Name: name}, live)).To(Succeed())
		return live
	}

	// inSync holds what lives to what was authored, as the tools do that keep them alike.
	inSync := func(ctx context.Context, want *unstructured.Unstructured, live *unstructured.Unstructured,
		how ...string) {
		GinkgoHelper()
		// Argo CD: whatever the spec has was authored, within lists too.
		stored, err := json.Marshal(live.Object["spec"])
		Expect(err).NotTo(HaveOccurred())
		authored, err := json.Marshal(want.Object["spec"])
		Expect(err).NotTo(HaveOccurred())
		Expect(stored).To(MatchJSON(authored))
		text, err := yaml.Marshal(want.Object)
		Expect(err).NotTo(HaveOccurred())
		// Flux, kubectl: applied again, as a dry run, it changes nothing. kubectl reads what lives and what would
		// come of it one after the other: a status that the manager writes in between is a difference too.
		Eventually(ctx, func(g Gomega) {
			diff, _, err := suite.Kubectl(ctx, string(text), append([]string{"diff", "-f", "-"}, how...)...)
			g.Expect(err).NotTo(HaveOccurred(), diff)
			g.Expect(diff).To(BeEmpty())
		}).Should(Succeed())
	}

	DescribeTable("is all that is stored, and a tool that compares the two finds no difference",
		func(ctx context.Context, how ...string) {
			for _, want := range manifests() {
				text, err := yaml.Marshal(want.Object)
				Expect(err).NotTo(HaveOccurred())
				suite.CleanUp(want.GetName())
				_, _, err = suite.Kubectl(ctx, string(text), append([]string{"apply", "-f", "-"}, how...)...)
				Expect(err).NotTo(HaveOccurred())
				live := isInForce(ctx, want.GetName())
				inSync(ctx, want, live, how...)
				applied, _, err := unstructured.NestedMap(live.Object, "status", "inForce")
				Expect(err).NotTo(HaveOccurred())
				Expect(applied).To(HaveLen(3), "severity, admissionAction and remediationMode")
				suite.RemovePolicy(ctx, want.GetName())
			}
		},
		Entry("applied by the server, as by Flux", "--server-side", "--field-manager=kustomize-controller"),
		Entry("applied by the client, as by Argo CD"),
	)

	It("is all that a PolicySource writes, and that of a source", func(ctx context.Context) {
		src := suite.NewSource(ctx, "authored", rig.PolicyFiles("authored-rule", "nowhere", "bad"))
		src.Ask(ctx)
		live := isInForce(ctx, "authored-rule")
		spec := live.Object["spec"].(map[string]any)
		Expect(spec).NotTo(HaveKey("remediation"))
		Expect(spec["admission"]).To(Equal(map[string]any{"action": "Deny"}))
		Expect(spec["match"]).NotTo(HaveKey("podTemplates"))
		generation := live.GetGeneration()

		By("taking out again what somebody has added, though it means the same")
		Expect(suite.API.Patch(ctx, live,
			client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"remediation":{"mode":"Disabled"}}}`)))).
			To(Succeed())
		src.Ask(ctx)
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.API.Get(ctx, client.ObjectKeyFromObject(live), live)).To(Succeed())
			g.Expect(live.Object["spec"]).NotTo(HaveKey("remediation"))
			g.Expect(live.GetGeneration()).To(BeNumerically(">", generation))
		}).Should(Succeed())

		bare := &unstructured.Unstructured{
			Object: map[string]any{
				"spec": map[string]any{"url": "https://git.example.com/policies.git", "suspend": true}}}
		bare.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("PolicySource"))
		bare.SetNamespace(rig.SystemNamespace)
		bare.SetName("bare")
		authored := bare.DeepCopy()
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, bare)).To(Succeed()) })
		Expect(suite.API.Create(ctx, bare)).To(Succeed())
		Expect(bare.Object["spec"]).To(Equal(authored.Object["spec"]))
	})
})
