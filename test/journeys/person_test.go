// SPDX-License-Identifier: Apache-2.0

package journeys_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// person is somebody at a terminal, with a directory and permissions of their own.
type person struct {
	name, dir, kubeconfig string
	steps                 []step
}

// said is what a command printed, on both streams as a terminal shows them, and how it ended.
type said struct {
	text string
	code int
}

// enters is a person who has nothing yet but an account. What their commands took is reported when the spec ends.
func enters(name string) *person {
	GinkgoHelper()
	dir := GinkgoT().TempDir()
	config, err := clientcmd.LoadFromFile(suite.Kubeconfig)
	Expect(err).NotTo(HaveOccurred())
	for _, user := range config.AuthInfos {
		user.Impersonate = name
	}
	p := &person{name: name, dir: filepath.Join(dir, "home"), kubeconfig: filepath.Join(dir, "kubeconfig")}
	Expect(clientcmd.WriteToFile(*config, p.kubeconfig)).To(Succeed())
	Expect(os.Mkdir(p.dir, 0o700)).To(Succeed())
	bin := filepath.Join(dir, "bin")
	Expect(os.Mkdir(bin, 0o700)).To(Succeed())
	Expect(os.Symlink(suite.Binary(), filepath.Join(bin, "evenkeel"))).To(Succeed())
	Expect(os.Symlink(suite.KubectlPath, filepath.Join(bin, "kubectl"))).To(Succeed())
	DeferCleanup(func() { AddReportEntry(journeyEntry, p.journey(), ReportEntryVisibilityAlways) })
	return p
}

// may gives a person a ClusterRole: in a namespace, or everywhere.
func (p *person) may(ctx context.Context, role, namespace string) {
	GinkgoHelper()
	subjects := []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: p.name}}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}
	meta := metav1.ObjectMeta{Namespace: namespace, GenerateName: p.name + "-"}
	if namespace != "" {
		suite.Create(ctx, &rbacv1.RoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects})
	} else {
		binding := &rbacv1.ClusterRoleBinding{ObjectMeta: meta, RoleRef: ref, Subjects: subjects}
		suite.Create(ctx, binding)
		DeferCleanup(func(ctx context.Context) { Expect(suite.API.Delete(ctx, binding)).To(Succeed()) })
	}
	granted := &rbacv1.ClusterRole{}
	Expect(suite.API.Get(ctx, client.ObjectKey{Name: role}, granted)).To(Succeed())
	suite.AwaitPermission(ctx, p.name, granted.Rules[0], namespace)
}

// types runs a line as the person types it, in their directory.
func (p *person) types(ctx context.Context, line string) said {
	GinkgoHelper()
	begun := time.Now()
	cmd := exec.CommandContext(ctx, "bash", "-o", "pipefail", "-c", line)
	var out bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, &out, &out
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "HOME="+p.dir, "NO_COLOR=1",
		"PATH="+filepath.Join(filepath.Dir(p.dir), "bin")+":"+os.Getenv("PATH"))
	err := cmd.Run()
	var ended *exec.ExitError
	if !errors.As(err, &ended) {
		Expect(err).NotTo(HaveOccurred())
	}
	p.steps = append(p.steps, step{line, time.Since(begun)})
	GinkgoWriter.Printf("%s$ %s\n%s(code %d, %s)\n", p.name, line, out.String(), cmd.ProcessState.ExitCode(),
		time.Since(begun).Round(time.Millisecond))
	return said{out.String(), cmd.ProcessState.ExitCode()}
}

// succeeds types a line that must end with code 0 and print the parts, and gives what it printed.
func (p *person) succeeds(ctx context.Context, line string, parts ...string) string {
	GinkgoHelper()
	return p.ends(ctx, 0, line, parts...)
}

// ends types a line that must end with a code and print the parts, and gives what it printed.
func (p *person) ends(ctx context.Context, code int, line string, parts ...string) string {
	GinkgoHelper()
	got := p.types(ctx, line)
	Expect(got.code).To(Equal(code), "%s\n%s", line, got.text)
	for _, part := range parts {
		Expect(got.text).To(ContainSubstring(part), line)
	}
	return got.text
}

// repeats types a line until it prints a part, as people do who wait; only the last time counts as a step.
func (p *person) repeats(ctx context.Context, line, part string) string {
	GinkgoHelper()
	before := len(p.steps)
	var got said
	begun := time.Now()
	Eventually(ctx, func() string {
		got = p.types(ctx, line)
		return got.text
	}).Should(ContainSubstring(part), line)
	p.steps = append(p.steps[:before], step{line, time.Since(begun)})
	return got.text
}

// writes puts a file into the person's directory, as an editor does.
func (p *person) writes(file, text string) {
	GinkgoHelper()
	path := filepath.Join(p.dir, file)
	Expect(os.MkdirAll(filepath.Dir(path), 0o700)).To(Succeed())
	Expect(os.WriteFile(path, []byte(text), 0o600)).To(Succeed())
}

// edits replaces a part of one of the person's files.
func (p *person) edits(file, before, after string) {
	GinkgoHelper()
	path := filepath.Join(p.dir, file)
	text, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(string(text)).To(ContainSubstring(before), file)
	Expect(os.WriteFile(path, []byte(strings.Replace(string(text), before, after, 1)), 0o600)).To(Succeed())
}
