// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// makeBreaker creates a namespace's breaker, which goes with the spec.
func makeBreaker(ctx context.Context, namespace string, mode v1alpha1.BreakerMode) *v1alpha1.RemediationBreaker {
	GinkgoHelper()
	cb := &v1alpha1.RemediationBreaker{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.NamespaceBreakerPrefix + namespace},
		Spec: v1alpha1.RemediationBreakerSpec{Mode: mode,
			Scope: v1alpha1.BreakerScope{Type: v1alpha1.BreakerScopeNamespace, Namespace: namespace}},
	}
	suite.Create(ctx, cb)
	DeferCleanup(func(ctx context.Context) { suite.RemoveBreaker(ctx, cb.Name) })
	return cb
}

var _ = Describe("The circuit breaker of a namespace", func() {
	It("keeps back that namespace's targets, and no others", func(ctx context.Context) {
		barred, free := suite.Namespace(ctx, "barred"), suite.Namespace(ctx, "free")
		breaker := makeBreaker(ctx, barred, v1alpha1.BreakerForcedOpen)
		awaitBreaker(ctx, breaker.Name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.Mode).To(Equal(v1alpha1.BreakerForcedOpen))
		})
		suite.AwaitEvent(ctx, "KillSwitchOn", breaker.Name, ContainSubstring("no new write begins"))
		suite.Create(ctx, fixture.ConfigMaps(barred, 2)...)
		suite.Create(ctx, fixture.ConfigMaps(free, 4)...)
		policy := fixture.Policy(barred, barred, fixture.FixState, fixture.InNamespaces(free),
			fixture.Remediated(v1alpha1.RemediationAutomatic))
		suite.CreatePolicy(ctx, policy)

		Eventually(ctx, func() []string { return patchedObjects(free) }).Should(HaveLen(4))
		// The others don't wait for it: what it keeps back is left to the next plan.
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Message).To(ContainSubstring("4 of 6 targets"))
		Expect(patchedObjects(barred)).To(BeEmpty())

		mergePatch(ctx, suite.API, breaker, `{"spec":{"mode":"Automatic"}}`)
		suite.AwaitEvent(ctx, "KillSwitchOff", breaker.Name, ContainSubstring("nobody holds"))
		Eventually(ctx, func() []string { return patchedObjects(barred) }).Should(HaveLen(2))
	})
})
