// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// annotated wants an annotation of a Pod template to be yes.
func annotated(key string) string {
	return fmt.Sprintf(`package fixture.annotated_%[1]s

import rego.v1

bad if input.object.spec.template.metadata.annotations["%[1]s"] != "yes"

deny contains {"msg": "annotation %[1]s must be yes", "path": "/spec/template/metadata/annotations/%[1]s"} if bad

remediation contains {"action": "patch", "ops": [{"op": "replace", "path": "/spec/template/metadata/annotations/%[1]s", "value": "yes"}]} if bad
`, key)
}

var _ = Describe("Several policies on one workload", func() {
	It("make one write and one restart of it, and each keeps the record of its part", func(ctx context.Context) {
		namespace, keys := suite.Namespace(ctx, "several"), []string{"one", "two", "three"}
		deployment := fixture.Deployment(namespace, "web")
		deployment.Spec.Template.Annotations = map[string]string{"one": "no", "two": "no", "three": "no"}
		suite.Create(ctx, deployment)
		podOf(ctx, namespace)
		global := &v1alpha1.RemediationBreaker{}
		global.Name = v1alpha1.GlobalBreakerName
		force := func(ctx context.Context, mode string) {
			GinkgoHelper()
			Eventually(ctx, func() error { // the leader makes it again where an earlier spec has removed it
				return suite.API.Patch(ctx, global.DeepCopy(),
					client.RawPatch(types.MergePatchType, []byte(`{"spec":{"mode":`+mode+`}}`)))
			}).Should(Succeed())
		}
		DeferCleanup(force, "null")
		force(ctx, `"ForcedOpen"`)
		for _, key := range keys {
			suite.CreatePolicy(ctx, fixture.Policy(namespace+"-"+key, namespace, annotated(key), fixture.Unselected,
				fixture.Kinds("apps", "Deployment"),
				fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Deadline(2*time.Minute))))
		}
		for _, key := range keys {
			suite.AwaitPhase(ctx, namespace+"-"+key, v1alpha1.PhaseHeld)
		}
		Expect(suite.Get(ctx, deployment)).To(Succeed())
		before := deployment.Generation

		By("all of them let go at the same time")
		force(ctx, "null")
		for _, key := range keys {
			rem := suite.AwaitPhase(ctx, namespace+"-"+key, v1alpha1.PhaseSucceeded)
			record := suite.RecordOf(ctx, rem, "web")
			Expect(record.State).To(Equal(v1alpha1.TargetDone))
			Expect(record.Write.Fields).To(HaveLen(1))
			Expect(record.Write.Fields[0].Path).To(Equal("/spec/template/metadata/annotations/" + key))
		}
		Expect(suite.Get(ctx, deployment)).To(Succeed())
		Expect(deployment.Spec.Template.Annotations).To(
			Equal(map[string]string{"one": "yes", "two": "yes", "three": "yes"}))
		Expect(deployment.Generation - before).To(BeEquivalentTo(1))
		sets := &appsv1.ReplicaSetList{}
		Expect(suite.API.List(ctx, sets, client.InNamespace(namespace))).To(Succeed())
		Expect(sets.Items).To(HaveLen(2))
	})
})
