// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("Who may patch a policy source, and not update it", func() {
	It("has it looked at, and changes nothing of it", func(ctx context.Context) {
		ns := suite.Namespace(ctx, "srcrole")
		source := suite.NewSource(ctx, ns, rig.PolicyFiles(ns, ns, "bad"))
		source.AwaitReason(ctx, v1alpha1.ReasonApplied)
		dana := userWith(ctx, "dana-of-"+ns, "evenkeel-operator")
		patch := func(who client.Client, text string) error {
			src := source.DeepCopy()
			return who.Patch(ctx, src, client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
		}
		asks := `{"metadata":{"annotations":{"evenkeel.dev/reconcile":"now"}}}`
		Expect(patch(dana, asks)).To(Succeed())
		changes := []string{
			`{"spec":{"url":"https://example.com/theirs.git"}}`, `{"spec":{"suspend":true}}`,
			`{"metadata":{"finalizers":null}}`, `{"metadata":{"labels":{"team":"theirs"}}}`,
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"a","uid":"b"}]}}`,
			`{"metadata":{"annotations":{"evenkeel.dev/accept-revision":"0123"}}}`,
			`{"metadata":{"annotations":{"evenkeel.dev/reconcile":"now"}},"spec":{"path":"elsewhere"}}`,
		}
		for _, change := range changes {
			Expect(patch(dana, change)).To(MatchError(And(ContainSubstring("may not change this source"),
				ContainSubstring("evenkeel source reconcile "+ns+" -n "+rig.SystemNamespace),
				ContainSubstring("nothing was changed"))), change)
		}
		Expect(dana.Update(ctx, source.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring("cannot update")))
		Expect(dana.Delete(ctx, source.DeepCopy(), client.DryRunAll)).To(MatchError(ContainSubstring("cannot delete")))

		By("one who may update it too")
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "test-" + ns}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{v1alpha1.GroupVersion.Group}, Resources: []string{"policysources"},
			Verbs: []string{"update", "patch"}}}}
		suite.Create(ctx, role)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, role)).To(Succeed()) })
		owner := userWith(ctx, "owner-of-"+ns, role.Name)
		for _, change := range append(changes, asks) {
			Expect(patch(owner, change)).To(Succeed(), change)
		}
	})
})
