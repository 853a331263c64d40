// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

const ownService = `package fixture.own_service

import rego.v1

missing if not input.object.metadata.labels.owner

deny contains {"msg": "label owner is missing", "path": "/metadata/labels/owner"} if missing

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels/owner", "value": "shop"}]} if missing
`

var _ = Describe("A plan for a kind that the manager may not write", func() {
	It("is held with the exact rule to add, and goes on once the permission is granted", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "permissions")
		service := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web", Labels: fixture.TargetLabels()},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}
		suite.Create(ctx, service)
		policy := fixture.Policy(namespace, namespace, ownService, fixture.Kinds("", "Service"),
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonMissingPermissions))
		Expect(rem.Status.Message).To(And(
			ContainSubstring(`{apiGroups: [""], resources: ["services"], verbs: ["patch"]}`),
			ContainSubstring(namespace), ContainSubstring("rbac.evenkeel.dev/aggregate-to-writer")))
		suite.AwaitEvent(ctx, "RemediationHeld", rem.Name, ContainSubstring(`resources: ["services"]`))
		Expect(suite.RecordOf(ctx, rem, "web").State).To(Equal(v1alpha1.TargetPending))

		grant(ctx, "writer", namespace,
			rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"services"}, Verbs: []string{"patch"}})
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(suite.Get(ctx, service)).To(Succeed())
		Expect(service.Labels).To(HaveKeyWithValue("owner", "shop"))
	})
})
