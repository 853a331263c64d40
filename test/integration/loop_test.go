// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A policy that loops", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "loop")
		suite.CreatePolicy(ctx, fixture.Policy(namespace+"-sound", namespace, fixture.DenyState("bad"),
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(v1alpha1.FailurePolicyFail)))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "one"), ContainSubstring("state must not be bad"))
	})

	looping := func(f v1alpha1.FailurePolicy) *v1alpha1.ClusterRegoPolicy {
		return fixture.Policy(namespace+"-loop", namespace, fixture.Loop,
			fixture.Enforced(v1alpha1.AdmissionDeny), fixture.OnFailure(f))
	}

	It("is stopped at its limit; with failurePolicy Fail requests are refused as not judged",
		func(ctx context.Context) {
			suite.CreatePolicy(ctx, looping(v1alpha1.FailurePolicyFail))
			awaitRefusal(ctx, good(namespace), And(
				ContainSubstring("couldn't be judged"),
				ContainSubstring("policy "+namespace+"-loop could not be evaluated")))
			start := time.Now()
			awaitRefusal(ctx, good(namespace), ContainSubstring("couldn't be judged"))
			Expect(time.Since(start)).To(BeNumerically("<", 15*time.Second), "the limit of a policy is a second")
		})

	It("is stopped at its limit; with failurePolicy Ignore requests pass with a warning, and other policies still "+
		"judge", func(ctx context.Context) {
		suite.CreatePolicy(ctx, looping(v1alpha1.FailurePolicyIgnore))
		api, warned := warningClient()
		Eventually(ctx, func(g Gomega) {
			g.Expect(api.Create(ctx, good(namespace), client.DryRunAll)).To(Succeed())
			g.Expect(warned()).To(
				ContainElement(And(ContainSubstring("not judged"), ContainSubstring(namespace+"-loop"))))
		}).Should(Succeed())
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "two"), ContainSubstring("state must not be bad"))
	})

	It("counts what it couldn't judge in its status, and the scan of other policies goes on",
		func(ctx context.Context) {
			suite.CreatePolicy(ctx, looping(v1alpha1.FailurePolicyIgnore))
			suite.Create(ctx, good(namespace))
			suite.AwaitScan(ctx, namespace+"-loop", func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.Errors).To(BeEquivalentTo(1))
				g.Expect(s.Violating).To(BeZero())
			})
			suite.AwaitScan(ctx, namespace+"-sound", func(g Gomega, s *v1alpha1.ScanStatus) {
				g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				g.Expect(s.Scanned).To(BeEquivalentTo(1))
				g.Expect(s.Errors).To(BeZero())
			})
		})
})
