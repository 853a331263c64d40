// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("An error budget", func() {
	It("holds writes while nobody knows what is left of it, opens the breaker while it burns, and lets go when it "+
		"doesn't", func(ctx context.Context) {
		namespace := suite.Namespace(ctx, "budget")
		name := v1alpha1.PolicyBreakerPrefix + namespace
		ratio := func(value float64) string { return fmt.Sprintf("error_ratio{namespace=%q} %v\n", namespace, value) }
		DeferCleanup(func() { exporter.Set("") })
		exporter.Set("")
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, func(s *fixture.Rollout) {
				// Longer than the spec takes to look, and to set what is scraped: it opens once.
				s.Breaker.Cooldown = metav1.Duration{Duration: 10 * time.Second}
				// A scrape that took too long leaves a gap.
				query := fmt.Sprintf("last_over_time(error_ratio{namespace=%q}[1m])", namespace)
				s.Breaker.SLO = &v1alpha1.SLOStrategy{Query: query, Objective: "99.9"}
			}))
		suite.CreatePolicy(ctx, policy)
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonSLOUnknown))
		Expect(rem.Status.Message).To(ContainSubstring("no data"))
		Expect(breakerOf(ctx, name).Status.State).To(Equal(v1alpha1.BreakerClosed), "no answer opens nothing")

		exporter.Set(ratio(1))
		burning := awaitBreaker(ctx, name, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.Reason).To(Equal("SLOBurn"))
		})
		exporter.Set(ratio(0.01))
		Expect(burning.Status.SLO.Spent).To(
			HavePrefix("1.38"), "an hour of errors alone spends 139 %% of a month's budget")
		suite.AwaitEvent(ctx, "BreakerOpened", name, ContainSubstring("138.9 % of the error budget"))
		Expect(patchedObjects(namespace)).To(BeEmpty())

		done := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(done.Name).To(Equal(rem.Name))
		Expect(patchedObjects(namespace)).To(HaveLen(3))
		Expect(breakerOf(ctx, name).Status.SLO.Verdict).To(Equal(v1alpha1.SLOWithin))
	})
})
