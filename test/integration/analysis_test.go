// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("A rollout that is judged by metrics", func() {
	var namespace, query string
	BeforeEach(func(ctx context.Context) {
		namespace = suite.Namespace(ctx, "metrics")
		query = fmt.Sprintf("errors{namespace=%q}", namespace)
		suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
	})

	errors := func(value any) string { return fmt.Sprintf("errors{namespace=%q} %v\n", namespace, value) }
	// judged makes the policy that fixes the ConfigMaps, and waits until Prometheus
	// has what the exporter serves, so that no baseline is taken too early.
	judged := func(ctx context.Context, condition string,
		modifiers ...func(*v1alpha1.AnalysisMetric)) *v1alpha1.ClusterRegoPolicy {
		GinkgoHelper()
		policy := fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Metric("errors", query, condition, modifiers...)))
		suite.CreatePolicy(ctx, policy)
		return policy
	}
	serving := func(ctx context.Context, page string, n int) {
		GinkgoHelper()
		exporter.Set(page)
		Eventually(ctx, func() (int, error) { return prometheus.Series(ctx, query) }).Should(Equal(n))
	}

	It("goes on when every metric is as good as before each wave", func(ctx context.Context) {
		serving(ctx, errors(4), 1)
		policy := judged(ctx, "sample <= baseline * 1.1")
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(rem.Status.Counts.Done).To(BeEquivalentTo(3))
		Expect(rem.Status.Analysis).To(HaveLen(1))
		record := rem.Status.Analysis[0]
		Expect(record.Wave).To(BeEquivalentTo(1), "the last wave has a record of its own")
		Expect(record.Baseline).To(Equal("4"))
		Expect(record.Verdict).To(Equal(v1alpha1.AnalysisPassed))
	})

	It("undoes a canary that makes a metric worse, and touches no other object", func(ctx context.Context) {
		exporter.Serve(func() string { return errors(1 + 10*fixed(ctx, namespace)) })
		Eventually(ctx, func() (int, error) { return prometheus.Series(ctx, query) }).Should(Equal(1))
		policy := judged(ctx, "sample <= baseline * 1.1", func(m *v1alpha1.AnalysisMetric) { m.Samples = 5 })
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonAnalysisFailed))
		Expect(rem.Status.Counts).To(Equal(v1alpha1.TargetCounts{Reverted: 1, Skipped: 2}))
		Expect(rem.Status.Analysis[0].Baseline).To(Equal("1"))
		Expect(rem.Status.Analysis[0].LastSample).To(Equal("11"))
		Expect(fixed(ctx, namespace)).To(BeZero())
		Expect(patchedObjects(namespace)).To(HaveLen(2), "written and set back")
		suite.AwaitEvent(ctx, "RollingBack", rem.Name, ContainSubstring("metric errors: sample 11, baseline 1, misses"))
		breaker := &v1alpha1.RemediationBreaker{
			ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.PolicyBreakerPrefix + policy.Name}}
		Expect(suite.Get(ctx, breaker)).To(Succeed())
		Expect(breaker.Status.Reason).To(Equal("CanaryFailed"))
	})

	It("is held while Prometheus is down, and goes on when it is back", func(ctx context.Context) {
		serving(ctx, errors(0), 1)
		policy := judged(ctx, "sample < 1", func(m *v1alpha1.AnalysisMetric) { m.Samples = 8 })
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSoaking)
		Expect(prometheus.Kill()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			if !prometheus.Running() {
				Expect(prometheus.Start(ctx)).To(Succeed())
			}
		})
		held := awaitHeld(ctx, policy.Name)
		Expect(held.Name).To(Equal(rem.Name))
		awaitMessage(ctx, held, "metric errors: ask Prometheus")
		Consistently(ctx, func() []string {
			return patchedObjects(namespace)
		}, "3s").Should(HaveLen(1), "the canary alone is written")

		Expect(prometheus.Start(ctx)).To(Succeed())
		done := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
		Expect(done.Name).To(Equal(rem.Name))
		Expect(patchedObjects(namespace)).To(HaveLen(3))
	})

	It("is held in the canary's soak by an answer without data", func(ctx context.Context) {
		serving(ctx, "", 0)
		policy := judged(ctx, "sample < 1")
		held := awaitHeld(ctx, policy.Name)
		awaitMessage(ctx, held, "no data")
		Expect(held.Status.HeldFrom).To(Equal(v1alpha1.PhaseSoaking))
		Consistently(ctx, func() []string { return patchedObjects(namespace) }, "3s").Should(HaveLen(1))
		exporter.Set(errors(0))
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
	})

	It("begins no wave without the baseline that its condition needs", func(ctx context.Context) {
		serving(ctx, "", 0)
		policy := judged(ctx, "sample <= baseline")
		held := awaitHeld(ctx, policy.Name)
		Expect(held.Status.HeldFrom).To(Equal(v1alpha1.PhaseApplying))
		Expect(held.Status.Message).To(ContainSubstring("no baseline"))
		Expect(patchedObjects(namespace)).To(BeEmpty())
		exporter.Set(errors(2))
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSucceeded)
	})

	It("compares with the same baseline after the manager was killed", func(ctx context.Context) {
		serving(ctx, errors(1), 1)
		policy := judged(ctx, "sample <= baseline", func(m *v1alpha1.AnalysisMetric) { m.Samples = 100 })
		suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseSoaking)
		Expect(manager.Kill()).To(Succeed())
		DeferCleanup(func(ctx context.Context) {
			if !manager.Running() {
				Expect(manager.Start(ctx)).To(Succeed())
				suite.AwaitAdmission(ctx)
			}
		})
		serving(ctx, errors(5), 1)
		Expect(manager.Start(ctx)).To(Succeed())
		rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseRolledBack)
		Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonAnalysisFailed))
		Expect(rem.Status.Analysis[0].Baseline).To(Equal("1"))
	})

	DescribeTable("is refused at admission with the field that is wrong",
		func(ctx context.Context, query, condition, field, why string) {
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic, fixture.Metric("errors", query, condition)))
			awaitRefusal(ctx, fixture.StrategyOf(policy),
				And(ContainSubstring("spec.analysis.metrics[0]."+field), ContainSubstring(why)))
		},
		Entry("CEL that can't be read", "up", "sample <", "successCondition", "Syntax error"),
		Entry("CEL that is no condition", "up", "sample + 1", "successCondition", "must be true or false"),
		Entry("CEL with a macro", "up", "[1.0].all(x, x > sample)", "successCondition", "undeclared reference"),
		Entry("PromQL that can't be read", "sum(up", "sample < 1", "query", "isn't PromQL"),
		Entry("PromQL that answers many samples", "up[5m]", "sample < 1", "query", "range vector"),
	)
})

// fixed is how many ConfigMaps of a namespace are as the policy wants them.
func fixed(ctx context.Context, namespace string) int {
	list := &corev1.ConfigMapList{}
	if err := suite.API.List(ctx, list, client.InNamespace(namespace),
		client.MatchingLabels(fixture.TargetLabels())); err != nil {
		return 0
	}
	n := 0
	for _, c := range list.Items {
		if c.Data["state"] == "good" {
			n++
		}
	}
	return n
}

// awaitMessage waits until a plan says why it waits: a scrape that took too long makes it say that there is no data.
func awaitMessage(ctx context.Context, rem *v1alpha1.Remediation, says string) {
	GinkgoHelper()
	Eventually(ctx, func(g Gomega) {
		g.Expect(suite.Get(ctx, rem)).To(Succeed())
		g.Expect(rem.Status.Message).To(ContainSubstring(says))
	}).Should(Succeed())
}

// awaitHeld waits until the policy's plan is held because metrics are silent.
func awaitHeld(ctx context.Context, policy string) *v1alpha1.Remediation {
	GinkgoHelper()
	rem := suite.AwaitPhase(ctx, policy, v1alpha1.PhaseHeld)
	Expect(rem.Status.Reason).To(Equal(v1alpha1.ReasonAnalysisInconclusive))
	return rem
}
