// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// withLogs lets a person read the manager's log by kubectl. No kubelet serves it here: the Pods that are asked for must
// be there, and what the manager has written stands for what they have.
func (p *person) withLogs(log string) {
	GinkgoHelper()
	path := filepath.Join(filepath.Dir(p.dir), "bin", "kubectl")
	Expect(os.Remove(path)).To(Succeed())
	script := fmt.Sprintf(`#!/bin/bash
if [ "$1" = logs ]; then
	%[1]s get pods "${@:2:4}" -o name | grep -q . && exec cat %[2]s
	exit 1
fi
exec %[1]s "$@"
`, suite.KubectlPath, log)
	Expect(os.WriteFile(path, []byte(script), 0o700)).To(Succeed())
}

// follow runs a row's command until it prints what it must: what it looks at may still be on its way.
func (p *person) follow(ctx context.Context, page string, r row, in names) {
	GinkgoHelper()
	line := in.typed(r.command)
	if r.in == "broken directory" {
		line = "cd " + in["DIRECTORY"] + " && " + line
	}
	Eventually(ctx, func(g Gomega) {
		got := p.types(ctx, line)
		g.Expect(got.text).To(ContainSubstring(r.says), "docs/runbooks/%s.md: %s", page, line)
		g.Expect(got.code).To(Equal(r.code), "docs/runbooks/%s.md: %s\n%s", page, line, got.text)
	}).WithTimeout(20 * time.Second).Should(Succeed())
}

var _ = Describe("Whoever follows a runbook", func() {
	It("finds that each of its commands does what it is there for, in the situation that it is about",
		SpecTimeout(6*time.Minute), func(ctx context.Context) {
			pages, table := runbooks(), rows()
			for page, commands := range pages {
				var known []string
				for _, r := range table[page] {
					known = append(known, r.command)
				}
				Expect(known).To(ConsistOf(commands), "rows() and docs/runbooks/%s.md", page)
			}
			dana := enters("dana")
			dana.may(ctx, "cluster-admin", "")
			dana.may(ctx, "evenkeel-approver", "")
			situations := scenes(ctx, dana)
			dana.withLogs(manager.Log())
			var wrong []string
			for _, page := range slices.Sorted(maps.Keys(table)) {
				Expect(pages).To(HaveKey(page), "rows() has a page that isn't there")
				for _, r := range table[page] {
					if r.in != "" {
						Expect(situations).To(HaveKey(r.in))
					}
					if r.not == "" {
						wrong = append(wrong, InterceptGomegaFailures(func() {
							dana.follow(ctx, page, r, situations[r.in])
						})...)
					}
				}
			}
			Expect(wrong).To(BeEmpty())
		})
})
