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
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "author")
			suite.Create(ctx, fixture.Deployment(namespace, "web"), fixture.Deployment(namespace, "api"))
			alex := enters("alex")
			alex.may(ctx, "cluster-admin", "")
			const main = "no_escalation/no_escalation.rego"

			alex.ends(ctx, 2, "evenkeel new policy no-escalation --kind Deploymnt",
				`--kind "Deploymnt" is no kind of Kubernetes; did you mean Deployment?`, "the cluster doesn't serve it",
				"give KIND.GROUP/VERSION", "or its definition by --crds")
			alex.succeeds(ctx, "evenkeel new policy no-escalation --with-fix --owner team-platform "+
				"--runbook https://example.com/runbooks/no-escalation", main, "The policy works as it stands",
				"evenkeel build no_escalation", "evenkeel test no_escalation")
			alex.ends(ctx, 1, "evenkeel new policy no-escalation",
				"the directory no_escalation exists already: nothing was written; change the policy there, remove it "+
					"first (rm -r no_escalation), or give another name")
			alex.succeeds(ctx, "evenkeel test .", "coverage 100.0 %", "0 failed")

			By("mistyping a key of METADATA, a rule, a function")
			alex.edits(main, "#   severity:", "#   severty:")
			alex.ends(ctx, 1, "evenkeel test .", main+":", "unknown METADATA key custom.severty: remove it, or "+
				"correct its spelling; did you mean custom.severity?")
			alex.edits(main, "#   severty:", "#   severity:")
			alex.edits(main, "deny contains", "denny contains")
			alex.ends(ctx, 1, "evenkeel test .", main+":", "has none of the rules deny, violation and warn: the "+
				"policy would judge nothing", "did you mean deny by denny?")
			alex.edits(main, "denny contains", "deny contains")
			alex.edits(main, "package ", "package broken {\npackage ")
			alex.ends(ctx, 1, "evenkeel test .", main+":", "rego_parse_error", "help: the mistake is often just "+
				"before this place")
			alex.edits(main, "package broken {\n", "")
			alex.edits(main, "deny contains", "deny contains lowr(\"x\")\n\ndeny contains")
			alex.ends(ctx, 1, "evenkeel test .", main+":", "undefined function lowr", "did you mean lower?")
			alex.edits(main, "deny contains lowr(\"x\")\n\n", "")
			alex.ends(ctx, 2, "evenkeel test . --lib nowhere", "--lib nowhere: there is no such directory: give the "+
				"directory with the modules that policies import, or leave --lib out")
			alex.succeeds(ctx, "evenkeel test . --run escalation", "9 passed, 0 failed")
			By("mistyping the kind of a manifest, which no policy would judge")
			alex.writes("pod.yaml", "apiVersion: v1\nkind: pod\nmetadata: {name: web}\n")
			alex.succeeds(ctx, "evenkeel check -p . pod.yaml", `warning: pod.yaml:2: no policy matches the kind "pod" `+
				"of v1, so that none judges it; did you mean Pod?")
			alex.succeeds(ctx, "rm pod.yaml")

			By("trying it on what lives in the cluster, which nothing is written to")
			alex.edits(main, "#   match:", "#   match:\n#     namespaces: ["+namespace+"]")
			alex.edits(main, "admission: {action: Audit}", "admission: {action: Deny}")
			alex.ends(ctx, 1, "evenkeel policy try . -n "+namespace, "Policy no-escalation, revision",
				"none of that name is in force", "2 objects would be refused if created now", "2 proven, 0 not",
				"an object on average", `container "web" may gain privileges: set securityContext.allowPrivilegeEscalation `+
					"to false", `fix: set /spec/template/spec/containers/0/securityContext to `+
					`{"allowPrivilegeEscalation":false}`,
				"What the rollout of its fixes would be: evenkeel plan no-escalation -p .")
			alex.ends(ctx, 1, "evenkeel policy try . -n "+namespace+" -o json", `"proven": 2`)
			By("a colleague trying it who may read that namespace and nothing of Evenkeel's")
			robin := enters("robin")
			robin.may(ctx, "view", namespace)
			tries := "evenkeel policy try " + alex.dir + " -n " + namespace
			robin.ends(ctx, 3, tries, "2 objects would be refused if created now", "2 proven, 0 not",
				"list policies: ", "ClusterRole evenkeel-viewer grants it", "to accept that: --allow-incomplete")
			robin.ends(ctx, 1, tries+" --allow-incomplete", "Incomplete: what is in force is available in part")
			alex.succeeds(ctx, "kubectl get rego -o name | grep -c no-escalation || true", "0")
			alex.ends(ctx, 1, "evenkeel plan no-escalation -p . --diff", "2 targets in 2 waves",
				"+          allowPrivilegeEscalation: false", "Would be held", "spec.remediation.mode is DryRun: "+
					"every fix is tried on the server, and nothing is written", "there is something to fix: objects 2")

			By("putting it into force")
			alex.succeeds(ctx, "evenkeel build . | kubectl apply -f -", "no-escalation created")
			DeferCleanup(func(ctx context.Context) {
				alex.succeeds(ctx, "kubectl delete rego no-escalation")
			})
			alex.succeeds(ctx, "kubectl wait --for=condition=Ready rego/no-escalation --timeout=60s")
			refused := alex.repeats(ctx, "kubectl create deployment late --image=registry.example.com/late:1.0 -n "+
				namespace+" --dry-run=server", "is refused by policy no-escalation (Medium): Containers must not gain "+
				"privileges")
			for _, part := range []string{`container "late" may gain privileges: set securityContext.`,
				`Fix: set /spec/template/spec/containers/0/securityContext to {"allowPrivilegeEscalation":false}`,
				"Runbook: https://example.com/runbooks/no-escalation"} {
				Expect(refused).To(ContainSubstring(part))
			}
			alex.ends(ctx, 1, "evenkeel policy try . -n "+namespace, ", which is in force")
			Expect(alex.succeeds(ctx, "kubectl get rego no-escalation")).To(ContainSubstring("Deny"))
		})

	It("writes one for a kind that the cluster has beside Kubernetes' own, by its name alone",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			alex := enters("alex")
			alex.may(ctx, "cluster-admin", "")
			alex.ends(ctx, 2, "evenkeel new policy sized-gadgets --kind Gadget.journey.example.com",
				"names no version, and is no kind of Kubernetes", "the cluster doesn't serve it")
			alex.writes("gadgets.yaml", `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.journey.example.com}
spec:
  group: journey.example.com
  names: {kind: Gadget, listKind: GadgetList, plural: gadgets, singular: gadget}
  scope: Namespaced
  versions:
  - name: v1beta1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`)
			alex.succeeds(ctx, "kubectl apply -f gadgets.yaml", "created")
			DeferCleanup(func(ctx context.Context) { alex.succeeds(ctx, "kubectl delete -f gadgets.yaml") })
			// kubectl wait fails while the conditions of a CustomResourceDefinition are null, as they are at first.
			alex.repeats(ctx, "kubectl wait --for=condition=Established crd/gadgets.journey.example.com",
				"condition met")

			for name, kind := range map[string]string{"by-name": "Gadget", "by-group": "gadget.journey.example.com",
				"apart": "Gadget --group journey.example.com"} {
				alex.repeats(ctx, "evenkeel new policy "+name+" --kind "+kind, "The policy works as it stands")
			}
			alex.succeeds(ctx, "grep -L 'apiVersion: journey.example.com/v1beta1' */examples.yaml | wc -l", "0")
			alex.succeeds(ctx, "evenkeel test .", "0 failed")
			alex.ends(ctx, 2, "evenkeel new policy misspelt --kind Gaget", "did you mean Gadget?")
		})
})
