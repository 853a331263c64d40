// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/fixture"
)

// unpinned is a manifest that violates policies of the library.
func unpinned(name string) string {
	return fmt.Sprintf(`apiVersion: apps/v1
kind: Deployment
metadata: {name: %s, namespace: shop}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      hostNetwork: true
      containers: [{name: web, image: "registry.example.com/web:latest"}]
`, name)
}

var _ = Describe("Whoever works at a terminal, or writes a pipeline", func() {
	It("checks a directory with anything in it, interrupts, pipes, fixes, and grants what is missing",
		SpecTimeout(10*time.Minute), func(ctx context.Context) {
			namespace := suite.Namespace(ctx, "terminal")
			sam := enters("sam")
			sam.may(ctx, "cluster-admin", "")
			for i := range 12 {
				sam.writes(fmt.Sprintf("deploy/web-%d.yaml", i), unpinned(fmt.Sprintf("web-%d", i)))
			}
			sam.succeeds(ctx, "mkfifo deploy/pipe.yaml && ln -s /dev/zero deploy/endless.yaml")

			By("reading a directory in which something never ends")
			begun := time.Now()
			sam.ends(ctx, 1, "evenkeel check deploy", "skipped deploy/pipe.yaml", "skipped deploy/endless.yaml")
			Expect(time.Since(begun)).To(BeNumerically("<", 30*time.Second))
			sam.ends(ctx, 1, "evenkeel check deploy --summary", "POLICY", "NAMESPACE", "shop")
			sam.ends(ctx, 1, "evenkeel check deploy --group-by severity 2>/dev/null", "SEVERITY")
			quiet := sam.types(ctx, "evenkeel check deploy 2>errors | head -1; cat errors")
			Expect(quiet.text).NotTo(ContainSubstring("broken pipe"))

			By("interrupting it, and ending it, while it waits for standard input: no error of its own")
			sam.succeeds(ctx, "mkfifo in")
			for signal, code := range map[string]int{"INT": 130, "TERM": 143} {
				begun = time.Now()
				// The shell holds the pipe open for writing.
				said := sam.ends(ctx, code, "exec 3<>in; evenkeel check - < in 3>&- & pid=$!; "+
					// A shell has what it starts in the background ignore interrupts, until the program hears them.
					"while grep -q '^SigIgn:.*[2367abef]$' /proc/$pid/status; do sleep 0.05; done; "+
					"kill -"+signal+" $pid; wait $pid")
				Expect(said).NotTo(ContainSubstring("evenkeel:"))
				Expect(time.Since(begun)).To(BeNumerically("<", 30*time.Second))
			}

			By("fixing what the report shows how to fix")
			sarif := sam.types(ctx, "evenkeel check deploy -o sarif --fail-on never 2>/dev/null")
			Expect(sarif.code).To(Equal(0))
			Expect(sarif.text).To(ContainSubstring(`"replacements"`))
			fixed := sam.types(ctx, "evenkeel fix deploy")
			Expect(fixed.code).To(Equal(1), "what no fix resolves is left, and a pipeline must see it: %s", fixed.text)
			Expect(fixed.text).To(And(MatchRegexp(`(?m)^deploy/web-11\.yaml:\d+ host-namespaces: remove `),
				MatchRegexp(`(?m)^left: deploy/web-11\.yaml:\d+ [a-z-]+: .*the policy offers no fix for it`),
				MatchRegexp(`(?m)^[1-9]\d* fixed in 12 files, [1-9]\d* left$`)))
			sam.ends(ctx, 1, "evenkeel fix deploy", "0 fixed in 0 files")
			Expect(sam.types(ctx, "evenkeel check deploy --only host-namespaces 2>/dev/null").text).To(
				ContainSubstring("0 violations"))

			By("granting what the manager lacks, without taking away what it has")
			for _, kind := range []string{"LimitRange", "ResourceQuota"} {
				policy := fixture.Policy(namespace+"-"+strings.ToLower(kind), namespace, fixture.FixState,
					fixture.Kinds("", kind))
				suite.CreatePolicy(ctx, policy)
				suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
					g.Expect(s.State).To(Equal(v1alpha1.ScanIncomplete))
				})
				sam.repeats(ctx, "kubectl describe rego "+policy.Name,
					"evenkeel rbac --in-force --existing | kubectl apply -f -")
				applied := sam.types(ctx, "evenkeel rbac --in-force --existing | kubectl apply -f -")
				Expect(applied.code).To(Equal(1), "something was missing: %s", applied.text)
				Expect(applied.text).To(MatchRegexp(`clusterrole\.rbac\.authorization\.k8s\.io/\S+ (created|configured)`))
				// Roles that are aggregated take a moment.
				sam.repeats(ctx, "kubectl auth can-i list "+strings.ToLower(kind)+
					"s --as system:serviceaccount:evenkeel-system:evenkeel", "yes")
				suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
					g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				})
			}
			sam.succeeds(ctx, "evenkeel rbac --in-force --existing", "nothing is missing")
		})
})
