// SPDX-License-Identifier: Apache-2.0

package attack_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A user who sends the field manager of the manager's rollbacks", func() {
	It("doesn't get past a Deny policy, nor does the manager with anything but a rollback", func(ctx context.Context) {
		attempt("patch an object under the field manager of rollbacks past a policy that denies it")
		namespace := suite.Namespace(ctx, "rollback")
		suite.Create(ctx, fixture.ConfigMap(namespace, "target"))
		before := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}}
		Expect(suite.Get(ctx, before)).To(Succeed())
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionDeny),
			fixture.OnFailure(v1alpha1.FailurePolicyFail), fixture.Remediated(v1alpha1.RemediationAutomatic)))
		rem := suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseSucceeded)
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "violating"), ContainSubstring("state must be good"))

		write := func(as client.Client, fieldManager string) error {
			target := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}}
			return as.Patch(ctx, target, client.RawPatch(types.MergePatchType, []byte(`{"data":{"state":"worse"}}`)),
				client.FieldOwner(fieldManager))
		}
		denied := MatchError(ContainSubstring("state must be good"))
		Expect(write(suite.API, v1alpha1.RollbackFieldManager)).To(denied, "anyone can send that name")
		Expect(write(suite.AsManager(), v1alpha1.FieldManager)).To(denied, "a fix must not violate")

		By("having the manager undo it, which passes")
		Expect(suite.API.Patch(ctx, rem.DeepCopy(),
			client.RawPatch(types.MergePatchType, []byte(`{"spec":{"desiredState":"Undone"}}`)))).To(Succeed())
		suite.AwaitPhase(ctx, namespace, v1alpha1.PhaseRolledBack)
		after := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "target"}}
		Expect(suite.Get(ctx, after)).To(Succeed())
		Expect(after.Data).To(Equal(before.Data))
	})
})
