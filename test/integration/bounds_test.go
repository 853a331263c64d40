// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

const mebibyte = 1 << 20

// encoded is the size of an object as etcd would take it, or more.
func encoded(object client.Object) int {
	GinkgoHelper()
	text, err := json.Marshal(object)
	Expect(err).NotTo(HaveOccurred())
	return len(text)
}

var _ = Describe("Violating objects by the thousand", func() {
	It("leave status, plan and slices bounded, far from etcd's limit", long, rig.Large, func(ctx context.Context) {
		n := rig.Many(500, 10_000)
		namespace := suite.Namespace(ctx, "bounds")
		workqueue.ParallelizeUntil(ctx, 32, n, func(i int) {
			defer GinkgoRecover()
			suite.Create(ctx, fixture.ConfigMap(namespace, fmt.Sprintf("a-name-of-some-length-for-an-object-%06d", i)))
		})
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationDryRun, fixture.Concurrent(100)))
		suite.CreatePolicy(ctx, policy)
		suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
			g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
			g.Expect(s.Violating).To(BeEquivalentTo(n))
			g.Expect(len(s.Sample)).To(BeNumerically("<=", 20))
		})
		Expect(encoded(suite.Policy(ctx, policy.Name))).To(BeNumerically("<", mebibyte/8))

		By("recording the fixes of more than one slice's targets")
		var rem v1alpha1.Remediation
		Eventually(ctx, func(g Gomega) {
			plans := suite.Plans(ctx, policy.Name)
			g.Expect(plans).To(HaveLen(1))
			rem = plans[0]
			g.Expect(rem.Status.Counts.Done).To(BeNumerically(">", v1alpha1.MaxTargetsPerSlice))
		}).WithTimeout(5 * time.Minute).Should(Succeed()) // beside other suites this takes its time
		Expect(rem.Spec.Plan.Targets).To(BeEquivalentTo(n))
		Expect(rem.Spec.Plan.Slices).To(HaveLen((n + v1alpha1.MaxTargetsPerSlice - 1) / v1alpha1.MaxTargetsPerSlice))
		Expect(encoded(&rem)).To(BeNumerically("<", mebibyte/8))
		total := 0
		for _, name := range rem.Spec.Plan.Slices {
			slice := &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: name}}
			Expect(suite.Get(ctx, slice)).To(Succeed())
			total += len(slice.Targets)
			Expect(len(slice.Targets)).To(BeNumerically("<=", v1alpha1.MaxTargetsPerSlice))
			Expect(encoded(slice)).To(BeNumerically("<=", v1alpha1.MaxSliceBytes))
		}
		Expect(total).To(Equal(n))

		By("leaving the plan")
		Expect(suite.API.Delete(ctx, policy)).To(Succeed())
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSuperseded)
		// The API server ends a request after a minute; what it has deleted by then is gone.
		Eventually(ctx, func() error {
			return suite.API.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(namespace))
		}).Should(Succeed())
	}, SpecTimeout(15*time.Minute))
})
