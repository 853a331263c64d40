// SPDX-License-Identifier: Apache-2.0

package integration_test

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// asked lets admission judge only what the conditions hold for.
func asked(conditions ...v1alpha1.MatchCondition) fixture.PolicyModifier {
	return func(p *v1alpha1.ClusterRegoPolicy) { p.Spec.Admission.MatchConditions = conditions }
}

var _ = Describe("A policy with matchConditions", func() {
	var namespace string
	BeforeEach(func(ctx context.Context) { namespace = suite.Namespace(ctx, "conditions-of") })

	It("refuses what they hold for, lets pass what they don't, and the scan judges both", func(ctx context.Context) {
		suite.CreatePolicy(ctx, fixture.Policy(namespace, namespace, fixture.FixState,
			fixture.Enforced(v1alpha1.AdmissionDeny),
			asked(v1alpha1.MatchCondition{
				Name: "not-legacy", Expression: `!object.metadata.name.startsWith("legacy")`})))
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "web"), ContainSubstring("is refused by policy "+namespace))
		suite.Create(ctx, fixture.ConfigMap(namespace, "legacy"))
		figures(ctx, namespace, 1, 0)
	})

	It("fails as its failurePolicy says when a condition can't be evaluated", func(ctx context.Context) {
		missing := asked(v1alpha1.MatchCondition{Name: "team", Expression: `object.metadata.labels["team"] == "shop"`})
		closed := fixture.Policy(namespace, namespace, fixture.FixState, fixture.Enforced(v1alpha1.AdmissionDeny),
			missing, fixture.OnFailure(v1alpha1.FailurePolicyFail))
		suite.CreatePolicy(ctx, closed)
		awaitRefusal(ctx, fixture.ConfigMap(namespace, "web"), ContainSubstring("team"))
		suite.UpdatePolicy(ctx, closed, fixture.OnFailure(v1alpha1.FailurePolicyIgnore))
		Eventually(ctx, func() error {
			return suite.API.Create(ctx, fixture.ConfigMap(namespace, "web"), client.DryRunAll)
		}).Should(Succeed())
	})

	It("isn't taken over with an expression that doesn't compile, which the refusal names", func(ctx context.Context) {
		bad := fixture.Policy(namespace, namespace, fixture.FixState,
			asked(v1alpha1.MatchCondition{Name: "bad", Expression: `object.metadata.`}))
		Expect(suite.API.Create(ctx, bad, client.DryRunAll)).To(
			MatchError(ContainSubstring("spec.admission.matchConditions[0].expression")))
	})
})
