// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("Whoever approves", func() {
	It("sees what would change without reading the objects, answers for that alone, and follows it to its end",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
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

	It("looks first and answers later, for many targets with a few different changes, and for what was looked at alone",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "digest")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 30)...)
			for i := range 3 {
				odd := fixture.ConfigMap(namespace, fmt.Sprintf("odd-%d", i))
				odd.Data["state"] = fmt.Sprintf("worse-%d", i)
				suite.Create(ctx, odd)
			}
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationManual))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAwaitingApproval)
			carol := enters("carol")
			carol.may(ctx, "evenkeel-approver", "")

			seen := carol.repeats(ctx, "evenkeel rollout get "+rem.Name, "Digest    sha256:")
			Expect(seen).To(And(MatchRegexp(`  30 ConfigMap: .* and 27 more`), ContainSubstring(`"bad" → "good"`),
				ContainSubstring(`  1 ConfigMap: `+namespace+`/odd-2`), ContainSubstring(`"worse-2" → "good"`)))
			carol.succeeds(ctx, "evenkeel rollout get "+rem.Name+" --targets 2", "and 28 more")
			brief := carol.succeeds(ctx, "evenkeel rollout get "+rem.Name+" --limit 1",
				"and 3 more changes, which the digest covers too; --limit 0 shows all")
			digest := regexp.MustCompile(`sha256:[0-9a-f]{64}`).FindString(brief)

			By("answering for other changes than those that stand there")
			stale := "sha256:" + strings.Repeat("0", 64)
			carol.ends(ctx, 3, "evenkeel rollout approve "+rem.Name+" --digest "+stale+" --yes",
				`the digest of its changes is "`+digest+`", not "`+stale+`": review them before you answer`)
			carol.succeeds(ctx, "evenkeel rollout get "+rem.Name, "nobody has answered")

			By("answering for those")
			carol.succeeds(ctx, "evenkeel rollout approve "+rem.Name+" --digest "+digest+" --yes --comment CHG-9",
				"approved by carol")
			carol.succeeds(ctx, "evenkeel rollout get "+rem.Name+" --watch", "33 done")
		})

	It("says no, with why, which nobody without the role may, and the plan ends before it has written",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "rejecter")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 2)...)
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationManual))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseAwaitingApproval)
			robin := enters("robin")
			robin.may(ctx, "evenkeel-viewer", "")
			robin.ends(ctx, 3, "evenkeel rollout reject "+rem.Name+" --comment no", `User "robin" cannot patch `+
				`resource "remediations"`, "evenkeel-approver to answer plans")

			carol := enters("carol")
			carol.may(ctx, "evenkeel-approver", "")
			carol.succeeds(ctx, "evenkeel rollout reject "+rem.Name+" --comment 'CHG-8: not before the release'",
				"remediation "+rem.Name+" rejected by carol")
			got := carol.repeats(ctx, "evenkeel rollout get "+rem.Name, "Aborted (Rejected)")
			Expect(got).To(And(ContainSubstring("rejected by carol: CHG-8: not before the release"),
				ContainSubstring("0 done, 0 in flight, 0 pending, 2 skipped")))
			carol.ends(ctx, 3, "evenkeel rollout reject "+rem.Name,
				"remediation "+rem.Name+": it was answered already: Reject by carol",
				"an answer can't be changed; for a new plan, which awaits an answer again: evenkeel rollout retry "+
					rem.Name)
			Expect(carol.succeeds(ctx, "evenkeel rollout history "+policy.Name)).To(
				MatchRegexp(rem.Name + ` +\S+ \S+ +Reject +carol +CHG-8: not before the release`))

			By("whoever is on call having it planned anew once the release is over")
			dana := enters("dana")
			dana.may(ctx, "evenkeel-operator", "")
			dana.succeeds(ctx, "evenkeel rollout retry "+rem.Name+" --reason 'the release is over'",
				"policy "+policy.Name+" is planned again")
			carol.repeats(ctx, "evenkeel rollout get | grep -v "+rem.Name+" | grep "+policy.Name, "AwaitingApproval")
		})
})
