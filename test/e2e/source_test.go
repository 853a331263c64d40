// SPDX-License-Identifier: Apache-2.0

package e2e_test

import (
	"context"
	"net/http"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

// policyWrite finds the writes of policies by a method, their status apart.
func policyWrite(method string) faultproxy.Match {
	return func(r faultproxy.Request) bool {
		return r.IsWrite() && r.Resource == "clusterregopolicies" && r.Subresource == "" && r.Method == method
	}
}

var _ = Describe("A policy source", func() {
	DescribeTable("whose manager is killed while a revision comes into force is brought to its end by the next one",
		func(ctx context.Context, nth int, method string) {
			manager := suite.StartManager(ctx)
			ns := suite.Namespace(ctx, "srccrash")
			stays, leaves, comes := ns+"-a", ns+"-b", ns+"-c"
			source := suite.NewSource(ctx, ns,
				rig.Files(rig.PolicyFiles(stays, ns, "bad"), rig.PolicyFiles(leaves, ns, "worse")))
			source.AwaitReason(ctx, v1alpha1.ReasonApplied)

			killed := manager.Proxy.Nth(nth, policyWrite(method),
				faultproxy.Fault{LoseRequest: true, Before: func(faultproxy.Request) { crash(manager) }})
			commit := source.Replace(rig.Files(rig.PolicyFiles(stays, ns, "ugly"), rig.PolicyFiles(comes, ns, "bad")))
			source.Change(ctx, func(src *v1alpha1.PolicySource) {
				metav1.SetMetaDataAnnotation(&src.ObjectMeta, v1alpha1.AnnotationReconcile, "now")
			})
			Eventually(ctx, killed.Hits).Should(Equal(1))
			Eventually(ctx, manager.Running).Should(BeFalse())
			manager.Proxy.Reset()
			Expect(suite.Get(ctx, &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: leaves}})).To(
				Succeed(), "what leaves is removed last")

			Expect(manager.Start(ctx)).To(Succeed())
			source.AwaitCommit(ctx, commit)
			list := &v1alpha1.ClusterRegoPolicyList{}
			Expect(suite.API.List(ctx, list, client.MatchingLabels{v1alpha1.LabelSourceName: ns})).To(Succeed())
			names := []string{}
			for _, p := range list.Items {
				names = append(names, p.Name)
			}
			Expect(names).To(ConsistOf(stays, comes))
			Expect(suite.Policy(ctx, stays).Spec.Rego.Main).To(ContainSubstring("ugly"))
		},
		Entry("between two policies", 2, http.MethodPatch),
		Entry("between the last policy and what is removed", 1, http.MethodDelete),
	)

	It("enforces what is pushed, and fixes what violated it before", func(ctx context.Context) {
		suite.StartManager(ctx)
		ns := suite.Namespace(ctx, "srcloop")
		suite.Create(ctx, fixture.ConfigMaps(ns, 3)...)
		other := ns + "-other"
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(other, ns, "ugly"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		suite.CleanUp(ns)

		commit := source.Replace(
			rig.Files(rig.PolicyFiles(other, ns, "ugly"),
				rig.PolicyFiles(ns, ns, "bad", "remediation: {mode: Automatic, strategyRef: {name: "+ns+"}}"),
				map[string]string{"policies/" + ns + "/strategy.yaml": strings.Join([]string{
					"apiVersion: " + v1alpha1.GroupVersion.String(), "kind: RemediationStrategy",
					"metadata: {name: " + ns + "}", "spec: {steps: [{targets: 1, soak: 1s}]}"}, "\n")}))
		source.Ask(ctx)
		source.AwaitCommit(ctx, commit)
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, fixture.ConfigMap(ns, "late"), client.DryRunAll)
		}).Should(MatchError(ContainSubstring("state must not be bad")))
		rem := suite.AwaitPhase(ctx, ns, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts.Done).To(BeEquivalentTo(3))
		list := &corev1.ConfigMapList{}
		Expect(suite.API.List(ctx, list, client.InNamespace(ns), client.MatchingLabels(fixture.TargetLabels()))).To(
			Succeed())
		for _, c := range list.Items {
			Expect(c.Data).To(HaveKeyWithValue("state", "good"), c.Name)
		}
	})
})
