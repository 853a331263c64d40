// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A StatefulSet that is being fixed under a Deny policy", func() {
	It("gets its Pods of the earlier revision back, which are older than the policy", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "revision")
		partition := int32(5)
		statefulSets(ctx, namespace, "db", 1,
			appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType,
				RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: &partition}})
		policy := fixture.Policy(namespace, namespace, fixture.RequireTemplateLabel("team", "shop"),
			fixture.Kinds("", "Pod"), fixture.Enforced(v1alpha1.AdmissionDeny), fixture.Unselected)
		suite.CreatePolicy(ctx, policy)
		awaitRefusal(ctx, fixture.Deployment(namespace, "new"), ContainSubstring("/spec/template/metadata/labels"))

		_, _, err := suite.Kubectl(ctx, "", "patch", "statefulset", "db-0", "-n", namespace, "--type=merge",
			"-p", `{"spec":{"template":{"metadata":{"labels":{"team":"shop"}}}}}`)
		Expect(err).NotTo(HaveOccurred())
		was, pod := &corev1.Pod{}, &corev1.Pod{}
		key := client.ObjectKey{Namespace: namespace, Name: "db-0-0"}
		Expect(suite.API.Get(ctx, key, was)).To(Succeed())
		Expect(suite.API.Delete(ctx, was)).To(Succeed())
		Eventually(ctx, func(g Gomega) {
			g.Expect(suite.API.Get(ctx, key, pod)).To(Succeed())
			g.Expect(pod.UID).NotTo(Equal(was.UID))
			g.Expect(pod.Labels).NotTo(HaveKey("team"), "the partition keeps it at the earlier revision")
		}).Should(Succeed())
	})
})
