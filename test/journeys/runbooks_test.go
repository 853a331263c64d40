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
		g.Expect(got.text).To(And(ContainSubstring(r.says), ContainSubstring(in.typed(r.names))),
			"docs/runbooks/%s.md: %s", page, line)
		g.Expect(got.code).To(Equal(r.code), "docs/runbooks/%s.md: %s\n%s", page, line, got.text)
	}).WithTimeout(20 * time.Second).Should(Succeed())
}

// readers are the people who follow runbooks, each with the role of theirs and nothing else.
func readers(ctx context.Context) map[reader]*person {
	GinkgoHelper()
	people := map[reader]*person{onCall: enters("dana"), approver: enters("kim"), administrator: enters("root")}
	people[onCall].may(ctx, "evenkeel-operator", "")
	people[approver].may(ctx, "evenkeel-approver", "")
	people[administrator].may(ctx, "cluster-admin", "")
	return people
}

// isRefused runs a row's command, which is somebody else's to run: what the role for it grants is no more than it says.
func (p *person) isRefused(ctx context.Context, page string, r row, in names) {
	GinkgoHelper()
	line := in.typed(r.command)
	got := p.types(ctx, line)
	Expect(got.text).To(MatchRegexp("[Ff]orbidden"), "docs/runbooks/%s.md, by %s: %s", page, p.name, line)
	Expect(got.code).NotTo(BeZero(), "docs/runbooks/%s.md, by %s: %s", page, p.name, line)
}

var _ = Describe("Whoever follows a runbook", func() {
	It("finds that each of its commands does what it is there for, in the situation that it is about",
		SpecTimeout(15*time.Minute), func(ctx context.Context) {
			pages, table := runbooks(), rows()
			for page, commands := range pages {
				var known []string
				for _, r := range table[page] {
					known = append(known, r.command)
				}
				Expect(known).To(ConsistOf(commands), "rows() and docs/runbooks/%s.md", page)
			}
			readers := readers(ctx)
			situations := scenes(ctx, readers[administrator])
			for _, p := range readers {
				p.withLogs(manager.Log())
			}
			var wrong []string
			for _, page := range slices.Sorted(maps.Keys(table)) {
				Expect(pages).To(HaveKey(page), "rows() has a page that isn't there")
				for _, r := range table[page] {
					if r.in != "" {
						Expect(situations).To(HaveKey(r.in))
					}
					if r.not != "" {
						continue
					}
					wrong = append(wrong, InterceptGomegaFailures(func() {
						if r.by != onCall {
							readers[onCall].isRefused(ctx, page, r, situations[r.in])
						}
						readers[r.by].follow(ctx, page, r, situations[r.in])
					})...)
				}
			}
			Expect(wrong).To(BeEmpty())
		})
})
