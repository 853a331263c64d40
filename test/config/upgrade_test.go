// SPDX-License-Identifier: Apache-2.0

package config

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("An install over an older one", func() {
	It("keeps what is stored, and the manager works on it", func(ctx context.Context) {
		install := overlay{base: "self-signed"}
		stored := filepath.Join("testdata", "stored.yaml")
		DeferCleanup(func(ctx context.Context) { install.uninstall(ctx) })
		DeferCleanup(letGo)
		applyOlderKinds(ctx)
		for _, namespace := range []string{systemNamespace, "estate"} {
			kubectl(ctx, "create", "namespace", namespace)
		}
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "namespace", "estate", "--wait=false") })
		kubectl(ctx, "apply", "--server-side", "-f", stored)
		kubectl(ctx, "patch", "remediation", "stored-team-label-0f1e2d3c", "--subresource=status", "--type=merge",
			`--patch={"status":{"phase":"Succeeded","message":"all done"}}`)

		By("applying the present manifests over it")
		install.apply(ctx)
		before := specs(ctx, stored)
		kubectl(ctx, "apply", "--server-side", "--validate=strict", "--dry-run=server", "-f", stored)

		By("starting the present manager")
		startManager(ctx)
		Eventually(ctx, func() error {
			return api.Create(ctx, fixture.Deployment("estate", "shop"), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("label team is missing")))
		Expect(api.Create(ctx, fixture.Deployment("estate", "legacy-shop"), client.DryRunAll)).To(
			Succeed(), "the stored waiver holds")
		Eventually(ctx, func(g Gomega) {
			var policy v1alpha1.ClusterRegoPolicy
			g.Expect(api.Get(ctx, client.ObjectKey{Name: "stored-team-label"}, &policy)).To(Succeed())
			g.Expect(policy.Status.Scan).NotTo(BeNil())
			g.Expect(policy.Status.Scan.State).To(Equal(v1alpha1.ScanComplete))
		}).Should(Succeed())

		By("comparing what was stored")
		Expect(specs(ctx, stored)).To(Equal(before))
		var plan v1alpha1.Remediation
		Expect(api.Get(ctx, client.ObjectKey{Name: "stored-team-label-0f1e2d3c"}, &plan)).To(Succeed())
		Expect(plan.Status.Phase).To(Equal(v1alpha1.PhaseSucceeded), "an ended plan stays as it ended")
	})
})

// applyOlderKinds defines every kind with a schema that takes anything, so that
// what is stored is exactly what was written, whatever today's schema says of it.
func applyOlderKinds(ctx context.Context) {
	GinkgoHelper()
	for _, definition := range build(ctx, filepath.Join(configFolder(), "crd")) {
		versions, _, err := unstructured.NestedSlice(definition.Object, "spec", "versions")
		Expect(err).NotTo(HaveOccurred())
		for _, version := range versions {
			entry, _ := version.(map[string]any)
			entry["schema"] = map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
			delete(entry, "selectableFields")
		}
		Expect(unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions")).To(Succeed())
		text, err := json.Marshal(definition.Object)
		Expect(err).NotTo(HaveOccurred())
		path := filepath.Join(work, definition.GetName()+".json")
		Expect(os.WriteFile(path, text, 0o600)).To(Succeed())
		kubectl(ctx, "apply", "--server-side", "-f", path)
	}
	Expect(plane.AwaitKinds(ctx)).To(Succeed())
}

// specs are the specs of the objects of a file as they are in the cluster, by name.
func specs(ctx context.Context, path string) map[string]any {
	GinkgoHelper()
	var list unstructured.UnstructuredList
	Expect(json.Unmarshal([]byte(kubectl(ctx, "get", "-f", path, "-o", "json")), &list)).To(Succeed())
	out := map[string]any{}
	for _, object := range list.Items {
		out[object.GetKind()+" "+object.GetName()] = object.Object["spec"]
	}
	Expect(out).To(HaveLen(7), "one of each kind")
	return out
}
