// SPDX-License-Identifier: Apache-2.0

package image

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

// machine is the platform that the tests run on.
func machine() string { return "linux/" + runtime.GOARCH }

var _ = Describe("The program in the sandbox", func() {
	It("can't write to its root file system, and can to what the manifests mount", func(ctx context.Context) {
		for dir, says := range map[string]string{"/": "read-only file system", "/etc": "read-only file system",
			"/tmp": ""} {
			p := newSandbox(ctx, "writer").run("new", "policy", "written", "--dir", dir)
			<-p.exited
			if says != "" {
				Expect(p.said()).To(ContainSubstring(says), dir)
			}
			Expect(p.state.Success()).To(Equal(says == ""), "%s: %s", dir, p.said())
		}
	})
})

// expectConfined fails unless the kernel says of a program that it has a user other than
// root, no capability, no way to any, and its own namespaces and read-only root.
func expectConfined(p *inner) {
	GinkgoHelper()
	proc := func(name string) string {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.Pid, name))
		Expect(err).NotTo(HaveOccurred())
		return string(raw)
	}
	status := proc("status")
	for _, set := range []string{"CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"} {
		Expect(status).To(MatchRegexp(`(?m)^%s:\s0+$`, set))
	}
	Expect(status).To(MatchRegexp(`(?m)^NoNewPrivs:\s1$`))
	Expect(status).To(MatchRegexp(`(?m)^NSpid:.*\s1$`), "it is the first process of its namespace")
	Expect(strings.Fields(proc("uid_map"))[0]).To(Equal("65532"))
	Expect(strings.Fields(proc("gid_map"))[0]).To(Equal("65532"))
	for _, namespace := range []string{"user", "pid", "mnt", "ipc", "uts"} {
		own, err := os.Readlink("/proc/self/ns/" + namespace)
		Expect(err).NotTo(HaveOccurred())
		Expect(os.Readlink(fmt.Sprintf("/proc/%d/ns/%s", p.Pid, namespace))).NotTo(Equal(own), namespace)
	}
	root := regexp.MustCompile(`(?m)^\d+ \d+ \S+ \S+ / (\S+)`).FindStringSubmatch(proc("mountinfo"))
	Expect(root).NotTo(BeNil())
	Expect(strings.Split(root[1], ",")).To(ContainElements("ro", "nosuid"))
}
