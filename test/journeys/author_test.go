// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/fixture"
)

var _ = Describe("The author of a policy", func() {
	It("writes one, mistypes, is led to the mistakes, tries it on the cluster, and brings it into force",
		SpecTimeout(4*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "author")
			suite.Create(ctx, fixture.Deployment(namespace, "web"), fixture.Deployment(namespace, "api"))
			alex := enters("alex")
			alex.may(ctx, "cluster-admin", "")
			const main = "no_escalation/no_escalation.rego"

			alex.ends(ctx, 2, "evenkeel new policy no-escalation --kind Deploymnt", "did you mean Deployment?")
			alex.succeeds(ctx, "evenkeel new policy no-escalation --with-fix --owner team-platform "+
				"--runbook https://example.com/runbooks/no-escalation", main)
			alex.succeeds(ctx, "evenkeel test .", "coverage 100.0 %", "0 failed")

			By("mistyping a key of METADATA, a rule, a function")
			alex.edits(main, "#   severity:", "#   severty:")
			alex.ends(ctx, 1, "evenkeel test .", main+":", "custom.severty", "did you mean custom.severity?")
			alex.edits(main, "#   severty:", "#   severity:")
			alex.edits(main, "deny contains", "denny contains")
			alex.types(ctx, "evenkeel test .")
			alex.edits(main, "denny contains", "deny contains")
			alex.edits(main, "package ", "package broken {\npackage ")
			alex.ends(ctx, 1, "evenkeel test .", main+":")
			alex.edits(main, "package broken {\n", "")
			alex.succeeds(ctx, "evenkeel test . --run escalation", "passed")

			By("trying it on what lives in the cluster, which nothing is written to")
			alex.edits(main, "#   match:", "#   match:\n#     namespaces: ["+namespace+"]")
			alex.edits(main, "admission: {action: Audit}", "admission: {action: Deny}")
			alex.ends(ctx, 1, "evenkeel policy try . -n "+namespace, "Policy no-escalation, revision",
				"none of that name is in force", "2 objects would be refused if created now", "2 proven, 0 not",
				"an object on average")
			alex.ends(ctx, 1, "evenkeel policy try . -n "+namespace+" -o json", `"proven": 2`)
			alex.succeeds(ctx, "kubectl get rego -o name | grep -c no-escalation || true", "0")
			alex.types(ctx, "evenkeel plan no-escalation -p . --diff")

			By("putting it into force")
			alex.succeeds(ctx, "evenkeel build . | kubectl apply -f -", "no-escalation created")
			DeferCleanup(func(ctx context.Context) {
				alex.succeeds(ctx, "kubectl delete rego no-escalation")
			})
			alex.succeeds(ctx, "kubectl wait --for=condition=Ready rego/no-escalation --timeout=60s")
			alex.repeats(ctx, "kubectl create deployment late --image=registry.example.com/late:1.0 -n "+namespace+
				" --dry-run=server", "is refused by policy no-escalation")
			alex.ends(ctx, 1, "evenkeel policy try . -n "+namespace, ", which is in force")
			Expect(alex.succeeds(ctx, "kubectl get rego no-escalation")).To(ContainSubstring("Deny"))
		})
})
