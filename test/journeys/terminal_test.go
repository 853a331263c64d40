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
		SpecTimeout(4*time.Minute), func(ctx context.Context) {
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

			By("interrupting it while it waits for standard input")
			sam.ends(ctx, 130, "(sleep 60 | evenkeel check - & wait $!) & sleep 0.1; "+
				"mkfifo in; sleep 60 > in & evenkeel check - < in & pid=$!; sleep 1; kill -INT $pid; wait $pid; "+
				"code=$?; kill %1 %2 2>/dev/null; exit $code")

			By("fixing what the report shows how to fix")
			sarif := sam.types(ctx, "evenkeel check deploy -o sarif --fail-on never 2>/dev/null")
			Expect(sarif.code).To(Equal(0))
			Expect(sarif.text).To(ContainSubstring(`"replacements"`))
			sam.types(ctx, "evenkeel fix deploy")
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
				sam.types(ctx, "evenkeel rbac --in-force --existing | kubectl apply -f -")
				suite.AwaitScan(ctx, policy.Name, func(g Gomega, s *v1alpha1.ScanStatus) {
					g.Expect(s.State).To(Equal(v1alpha1.ScanComplete))
				})
			}
			sam.succeeds(ctx, "evenkeel rbac --in-force --existing", "nothing is missing")
		})
})
