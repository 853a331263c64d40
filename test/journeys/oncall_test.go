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
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "oncall")
			source := suite.NewSource(ctx, namespace, rig.PolicyFiles(namespace, namespace, "bad"))
			dana := enters("dana")
			dana.may(ctx, "evenkeel-operator", "")
			dana.may(ctx, "edit", namespace)
			dana.writes("hotfix.yaml", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: hotfix, namespace: "+
				namespace+", labels: {fixture: target}}\ndata: {state: bad}\n")

			begun := time.Now()
			refused := dana.repeats(ctx, "kubectl apply -f hotfix.yaml --dry-run=server",
				"ConfigMap "+namespace+"/hotfix is refused by policy "+namespace+" (Medium): State isn't bad")
			for _, part := range []string{"/data/state: state must not be bad", `Fix: set /data/state to "good"`,
				"Runbook: https://example.com/runbooks/" + namespace} {
				Expect(refused).To(ContainSubstring(part))
			}
			dana.ends(ctx, 1, "kubectl patch rego "+namespace+
				` --type=merge -p '{"spec":{"admission":{"action":"Warn"}}}'`, "orbidden")
			dana.ends(ctx, 2, "evenkeel policy override "+namespace+" --enforcement Warn --for 2h",
				"--reason is missing: say why the policy is overridden", "usage: evenkeel policy override NAME")
			dana.succeeds(ctx, "evenkeel policy override "+namespace+" --enforcement Warn --for 2h --reason INC-42",
				"policy "+namespace+": admission action Deny is overridden to Warn until", "by dana (INC-42)",
				"no new write of its plans begins until then", "to end it before: evenkeel policy override "+namespace+
					" --clear")
			dana.succeeds(ctx, "kubectl apply -f hotfix.yaml", "Warning: policy "+namespace+": /data/state: state "+
				"must not be bad (policy overridden from Deny to Warn until", "; not blocked)",
				"configmap/hotfix created")
			Expect(time.Since(begun)).To(BeNumerically("<", time.Minute), "from being refused to being let through")

			By("seeing that it stands through a sync, which is all that she may ask of the source, and ending it")
			dana.succeeds(ctx, "evenkeel source reconcile "+source.Name+" --wait", "is in force")
			dana.ends(ctx, 3, "evenkeel source suspend "+source.Name, "user dana may not change this source: that "+
				"needs the verb update on policysources/"+source.Name, "nothing was changed")
			dana.succeeds(ctx, "kubectl get policyoverrides "+namespace, "Warn")
			told := dana.repeats(ctx, "evenkeel explain configmap/hotfix -n "+namespace, "overridden: admission "+
				"action Deny is overridden to Warn until")
			Expect(told).To(And(ContainSubstring("by dana (INC-42)"), ContainSubstring("state must not be bad")))
			dana.succeeds(ctx, "evenkeel policy override "+namespace+" --clear",
				"policy "+namespace+" is no longer overridden: it is enforced as it declares")
			dana.repeats(ctx, "kubectl create -f hotfix.yaml --dry-run=server", "is refused by policy "+namespace)
		})

	It("stops all writes, sees why a rollout waits, and lets it go on, with every act on record",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "stop")
			suite.Create(ctx, fixture.ConfigMaps(namespace, 3)...)
			dana := enters("dana")
			dana.may(ctx, "evenkeel-operator", "")
			dana.ends(ctx, 3, "evenkeel breaker open policy-nobody", "there is no circuit breaker policy-nobody",
				`"nobody" not found`)

			dana.succeeds(ctx, "evenkeel breaker open global --reason INC-43",
				"circuit breaker global is held open: no new write begins in its scope; rollbacks go on")
			DeferCleanup(func(ctx context.Context) { dana.types(ctx, "evenkeel breaker close global") })
			dana.repeats(ctx, "kubectl get remediationbreakers global | grep -E ' ForcedOpen +Open '", "global")
			dana.succeeds(ctx, "evenkeel breaker list | grep -E '^global .* Open '",
				"held open by a person (dana: INC-43): evenkeel breaker close global")
			policy := fixture.Policy(namespace, namespace, fixture.FixState,
				fixture.Remediated(v1alpha1.RemediationAutomatic))
			suite.CreatePolicy(ctx, policy)
			rem := suite.AwaitPhase(ctx, policy.Name, v1alpha1.PhaseHeld)
			dana.succeeds(ctx, "evenkeel rollout get "+policy.Name, "Held (BreakerOpen)", "global is held open by a "+
				"person (dana: INC-43); release: evenkeel breaker close global",
				"no new write until somebody releases it")
			dana.ends(ctx, 3, "evenkeel rollout retry "+rem.Name, "goes on by itself once nothing holds it; there is "+
				"nothing to retry", "Circuit breaker global is held open by a person", "evenkeel breaker close global")

			dana.succeeds(ctx, "evenkeel rollout pause "+rem.Name+" --reason 'until the release is over'",
				"remediation "+rem.Name+" paused")
			dana.succeeds(ctx, "evenkeel breaker close global --reason 'INC-43 is over'",
				"circuit breaker global is no longer held open; its own state is Closed")
			Expect(dana.succeeds(ctx, "evenkeel breaker history global")).To(And(
				MatchRegexp(`ForceOpen +dana +INC-43\n`), MatchRegexp(`Release +dana +INC-43 is over\n`)))
			dana.repeats(ctx, "evenkeel rollout get "+policy.Name, "a person has paused the rollout (dana: until the "+
				"release is over); to go on: evenkeel rollout resume "+rem.Name)
			dana.succeeds(ctx, "evenkeel rollout resume "+rem.Name+" --reason 'the release is over'",
				"remediation "+rem.Name+" resumed")
			dana.succeeds(ctx, "evenkeel rollout get "+policy.Name+" --watch", "Succeeded", "3 done", "0 failed",
				"(AllTargetsSettled)")
			Expect(dana.succeeds(ctx, "evenkeel rollout history "+policy.Name)).To(And(
				MatchRegexp(rem.Name+` .* Pause +dana +until the release is over\n`),
				MatchRegexp(rem.Name+` .* Resume +dana +the release is over\n`)))
			suite.RemoveStrayPlans(ctx)
			dana.repeats(ctx, "evenkeel doctor",
				"ok       admission       the webhook answers and judges an override of a policy; ")
			looked := dana.succeeds(ctx, "evenkeel doctor", "ok       manager ", "ok       policies ",
				"ok       breakers ", "ok       scan ", "→ give it --alertmanager-url",
				"skipped  read-permissions  not checked: the permissions of the manager (you may not create "+
					"subjectaccessreviews.authorization.k8s.io); the checks scan and policies name what it can't read")
			Expect(looked).NotTo(ContainSubstring("unknown"), "the role grants what is asked")
			Expect(looked).NotTo(ContainSubstring("another version"))
		})
})
