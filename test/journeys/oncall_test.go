// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
	"evenkeel.dev/evenkeel/test/rig"
)

var _ = Describe("Whoever is on call", func() {
	It("softens a policy from Git that refuses what must go in now, whoever keeps it, and sees it end",
		SpecTimeout(4*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "oncall")
			source := suite.NewSource(ctx, namespace, rig.PolicyFiles(namespace, namespace, "bad"))
			dana := enters("dana")
			dana.may(ctx, "evenkeel-operator", "")
			dana.may(ctx, "edit", namespace)
			dana.writes("hotfix.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hotfix, namespace: "+
				namespace+", labels: {fixture: target}}\ndata: {state: bad}\n")

			begun := time.Now()
			dana.repeats(ctx, "kubectl apply -f hotfix.yaml --dry-run=server", "is refused by policy "+namespace)
			dana.ends(ctx, 1, "kubectl patch rego "+namespace+
				` --type=merge -p '{"spec":{"admission":{"action":"Warn"}}}'`, "orbidden")
			dana.ends(ctx, 2, "evenkeel policy override "+namespace+" --enforcement Warn --for 2h",
				"--reason is missing")
			dana.succeeds(ctx, "evenkeel policy override "+namespace+" --enforcement Warn --for 2h --reason INC-42",
				"admission action Deny is overridden to Warn until", "dana")
			dana.succeeds(ctx, "kubectl apply -f hotfix.yaml", "Warning", "overridden from Deny to Warn until",
				"created")
			Expect(time.Since(begun)).To(BeNumerically("<", time.Minute), "from being refused to being let through")

			By("seeing that it stands through a sync, and ending it")
			source.Ask(ctx)
			dana.succeeds(ctx, "kubectl get policyoverrides "+namespace, "Warn")
			dana.repeats(ctx, "evenkeel explain configmap/hotfix -n "+namespace, "overridden")
			dana.succeeds(ctx, "evenkeel policy override "+namespace+" --clear --reason 'hotfix is in'")
			dana.repeats(ctx, "kubectl create -f hotfix.yaml --dry-run=server", "is refused by policy "+namespace)
		})

	It("stops all writes, sees why a rollout waits, and lets it go on, with every act on record",
		SpecTimeout(4*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "stop")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
			dana := enters("dana")
			dana.may(ctx, "evenkeel-operator", "")
			dana.ends(ctx, 3, "evenkeel breaker open policy-nobody", "policy-nobody")

			dana.succeeds(ctx, "evenkeel breaker open global --reason INC-43")
			DeferCleanup(func(ctx context.Context) { dana.types(ctx, "evenkeel breaker close global") })
			dana.succeeds(ctx, "kubectl get remediationbreakers global", "ForcedOpen")
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
			dana.succeeds(ctx, "evenkeel rollout get "+policy.Name, "Held", "INC-43", "dana")
			dana.ends(ctx, 3, "evenkeel rollout retry "+rem.Name, "global")

			dana.succeeds(ctx, "evenkeel rollout pause "+rem.Name+" --reason 'until the release is over'")
			dana.succeeds(ctx, "evenkeel breaker close global --reason 'INC-43 is over'")
			dana.succeeds(ctx, "evenkeel breaker history global", "ForceOpen", "Release", "dana", "INC-43 is over")
			dana.repeats(ctx, "evenkeel rollout get "+policy.Name, "until the release is over")
			dana.succeeds(ctx, "evenkeel rollout resume "+rem.Name+" --reason 'the release is over'")
			dana.succeeds(ctx, "evenkeel rollout get "+policy.Name+" --watch", "Succeeded")
			dana.succeeds(ctx, "evenkeel rollout history "+policy.Name, rem.Name, "dana")
			Expect(dana.types(ctx, "evenkeel doctor").text).To(ContainSubstring("manager"))
		})
})
