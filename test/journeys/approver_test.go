// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("Whoever approves", func() {
	It("sees what would change without reading the objects, answers for that alone, and follows it to its end",
		SpecTimeout(4*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "approver")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationManual))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAwaitingApproval)
			carol := enters("carol")
			carol.may(ctx, "evenkeel-approver", "")

			carol.ends(ctx, 1, "kubectl get configmaps -n "+namespace, "orbidden")
			carol.succeeds(ctx, "evenkeel rollout get", rem.Name, "AwaitingApproval")
			carol.repeats(ctx, "evenkeel rollout get "+rem.Name, "/data/state")
			carol.succeeds(ctx, "evenkeel rollout get "+rem.Name, "3 targets", `"good"`)
			carol.succeeds(ctx, "evenkeel rollout approve "+rem.Name+" --comment CHG-7", "approved by carol")
			carol.succeeds(ctx, "evenkeel rollout get "+rem.Name+" --watch", "Succeeded")
			Expect(carol.succeeds(ctx, "evenkeel rollout history "+policy.Name)).To(
				MatchRegexp(rem.Name + ` +\S+ \S+ +Approve +carol +CHG-7`))
		})
})
