// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/faultproxy"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A person's edit that is the very edit of the fix", func() {
	It("made right before our write, which is refused for it, is theirs: no rollback undoes it",
		func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "beaten")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
			named := func(name string) *corev1.ConfigMap {
				return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
			}
			edited := make(chan *corev1.ConfigMap, 1)
			manager.Proxy.Nth(1, func(r faultproxy.Request) bool {
				return r.IsWrite() && r.Namespace == namespace && r.Resource == "configmaps"
			},
				faultproxy.Fault{Before: func(r faultproxy.Request) {
					theirs := named(r.Name)
					if suite.API.Patch(ctx, theirs,
						client.RawPatch(types.MergePatchType,
							[]byte(`{"data":{"state":"good","patched":"1"}}`))) == nil {
						edited <- theirs
					}
				}})
			DeferCleanup(manager.Proxy.Reset)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic,
					fixture.Soak(30*time.Second)))
			suite.CreatePolicy(ctx, policy)
			var theirs *corev1.ConfigMap
			Eventually(edited).Should(Receive(&theirs))

			By("another canary, which vanishes in its soak")
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSoaking)
			for _, record := range suite.Records(ctx, rem) {
				if record.State == v1alpha1.TargetApplied || record.State == v1alpha1.TargetVerified {
					Expect(record.Object.Name).NotTo(Equal(theirs.Name))
					Expect(suite.API.Delete(ctx, named(record.Object.Name))).To(Succeed())
				}
			}
			rem = suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
			record := suite.RecordOf(ctx, rem, theirs.Name)
			Expect(record.State).To(Equal(v1alpha1.TargetSkipped))
			Expect(record.Reason).To(Equal(v1alpha1.ReasonAlreadyClean))
			Expect(record.Write).To(BeNil())
			now := named(theirs.Name)
			Expect(suite.Get(ctx, now)).To(Succeed())
			Expect(now.ResourceVersion).To(Equal(theirs.ResourceVersion))
		})
})
