// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// What the runbooks of rolled-back plans and of demoted policies mean by "planned anew by itself".
var _ = Describe("A circuit breaker that a failed canary has opened", func() {
	var namespace, breaker string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "anew")
		breaker = v1alpha1.PolicyBreakerPrefix + namespace
		deployments(ctx, namespace, 2)
	})
	// rolledBack is a plan that was, by a policy whose fix keeps Pods from being ready.
	rolledBack := func(ctx context.Context, cooldown time.Duration) (*v1alpha1.ClusterRegoPolicy, string) {
		GinkgoHelper()
		policy := overPods(namespace, fixture.RequireTemplateLabel("kwok.evenkeel.dev/ready", "never"),
			fixture.Deadline(4*time.Second), func(s *fixture.Rollout) {
				s.Breaker.Cooldown = metav1.Duration{Duration: cooldown}
			})
		suite.CreatePolicy(ctx, policy)
		failed := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		awaitBreaker(ctx, breaker, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.Openings).To(BeEquivalentTo(1))
		})
		return policy, failed.Name
	}
	// corrected gives the policy a fix that Pods bear.
	corrected := func(ctx context.Context, policy *v1alpha1.ClusterRegoPolicy) {
		GinkgoHelper()
		suite.UpdateStrategy(ctx, policy.Name, func(s *v1alpha1.RemediationStrategySpec) {
			s.ProgressDeadline = metav1.Duration{Duration: 30 * time.Second} // it is to succeed
		})
		suite.UpdatePolicy(ctx, policy, func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main = fixture.RequireTemplateLabel("team", "platform")
		})
	}

	It("holds the plan of a changed policy, until it is reset", func(ctx context.Context) {
		policy, failed := rolledBack(ctx, time.Hour)
		corrected(ctx, policy)
		anew := awaitReason(ctx, policy.Name, v1alpha1.PhaseHeld, v1alpha1.ReasonBreakerOpen)
		Expect(anew.Name).NotTo(Equal(failed))
		Expect(anew.Status.Message).To(And(ContainSubstring(breaker), ContainSubstring("evenkeel breaker reset")))
		for _, d := range listDeployments(ctx, namespace) {
			Expect(d.Spec.Template.Labels).NotTo(HaveKey("team"), d.Name)
		}

		_, errs, code := evenkeel(ctx, "breaker", "reset", breaker, "--reason", "the fix is another one")
		Expect(code).To(BeZero(), errs)
		Expect(suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded).Name).To(Equal(anew.Name))
	})

	It("lets the plan of a changed policy through as its probe, once it has cooled down", func(ctx context.Context) {
		policy, failed := rolledBack(ctx, time.Second)
		corrected(ctx, policy)
		Expect(suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded).Name).NotTo(Equal(failed))
		awaitBreaker(ctx, breaker, func(g Gomega, st v1alpha1.RemediationBreakerStatus) {
			g.Expect(st.State).To(Equal(v1alpha1.BreakerHalfOpen), "two that succeed close it")
			g.Expect(st.HalfOpenSuccesses).To(BeEquivalentTo(1))
		})
	})
})
