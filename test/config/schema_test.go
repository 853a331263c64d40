package config

import (
	"context"
	"path/filepath"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"evenkeel.dev/evenkeel/test/cluster"
)

var _ = Describe("The kinds without a manager", Ordered, func() {
	BeforeAll(func(ctx context.Context) {
		root, err := cluster.Root()
		Expect(err).NotTo(HaveOccurred())
		kinds := filepath.Join(root, "config", "crd", "bases")
		kubectl(ctx, "apply", "--server-side", "-f", kinds)
		DeferCleanup(func(ctx context.Context) { kubectl(ctx, "delete", "-f", kinds) })
		kubectl(ctx, "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
	})

	DescribeTable("refuse what the manager couldn't read, so that it never stops the others",
		func(ctx context.Context, strategy, message string) {
			_, _, err := plane.Kubectl(ctx, policyWith(strategy), "create", "--dry-run=server", "-f", "-")
			if message == "" {
				Expect(err).NotTo(HaveOccurred())
				return
			}
			Expect(err).To(MatchError(ContainSubstring(message)))
		},
		Entry("a duration in words", `{soak: 1 day}`, `soak must be a duration from 0s to 168h, such as 30s, 5m or 1h30m`),
		Entry("a duration without a unit", `{approval: {timeout: "90"}}`, `timeout must be a duration from 1s to 720h`),
		Entry("a duration that doesn't fit", `{canary: {soak: 99999999999h}}`, `soak must be a duration from 0s to 168h`),
		Entry("a deadline of nothing", `{progressDeadline: 0s}`, `progressDeadline must be a duration from 1s to 24h`),
		Entry("a window that is open for less than a minute", `{windows: [{schedule: "0 1 * * *", duration: 5s}]}`, `duration must be a duration from 1m to 168h`),
		Entry("a wave that is no number", `{waves: [abc, "100%"]}`, `spec.remediation.waves[0]`),
		Entry("a wave of nothing", `{waves: [0, "100%"]}`, `a wave must be a count of at least 1, or a percentage from 1% to 100%`),
		Entry("a canary larger than all", `{canary: {size: 101%}}`, `size must be a count of at least 1, or a percentage from 1% to 100%`),
		Entry("a budget of nothing", `{budget: {maxUnavailable: 0}}`, `maxUnavailable must be a count of at least 1`),
		Entry("no soak at all, which is a duration", `{soak: 0s, canary: {soak: 0s}, waves: [1, 10%, "100%"], history: {maxAge: 1.5h}}`, ``),
	)
})

// policyWith is a policy with a strategy, as people write it.
func policyWith(strategy string) string {
	return `apiVersion: evenkeel.dev/v1alpha1
kind: Policy
metadata: {name: quantities}
spec:
  title: Durations and shares
  owner: team-platform
  severity: Low
  runbookURL: https://example.com/runbook
  modules: [{name: a.rego, rego: "package a"}]
  match: {resources: [{apiGroups: [""], kinds: [Pod]}]}
  remediation: ` + strategy + "\n"
}
