// SPDX-License-Identifier: Apache-2.0

package controlplane_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/hack/controlplane"
	"evenkeel.dev/evenkeel/hack/controlplane/internal/process"
)

// suite is what all tests share: the command, and a folder that holds every
// instance, so that leftovers can be found.
type suite struct {
	command string
	dir     string
}

func (s suite) instance(name string) string { return filepath.Join(s.dir, name) }

// tests is set once, before any test runs.
var tests suite

func TestMain(m *testing.M) {
	os.Exit(runSuite(m))
}

func runSuite(m *testing.M) int {
	dir, err := os.MkdirTemp("", "controlplane-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	tests = suite{command: filepath.Join(dir, "controlplane"), dir: dir}
	for _, step := range [][]string{
		{"go", "build", "-o", tests.command, "./cmd/controlplane"},
		{tests.command, "build"},
		{tests.command, "up", "--dir", tests.instance("shared")},
	} {
		cmd := exec.Command(step[0], step[1:]...)
		cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
		if err := cmd.Run(); err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", strings.Join(step, " "), err)
			return 1
		}
	}
	code := m.Run()
	if out, err := exec.Command(tests.command, "down", "--dir", tests.instance("shared")).CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "down: %v\n%s", err, out)
		code = 1
	}
	if left, err := running(dir); err != nil || len(left) > 0 {
		fmt.Fprintf(os.Stderr, "processes left after the tests: %v (%v)\n", left, err)
		code = 1
	}
	return code
}

// running lists all component processes below dir.
func running(dir string) ([]process.Process, error) {
	var names []string
	for _, c := range controlplane.Components() {
		names = append(names, string(c))
	}
	return process.Find(dir, names...)
}

func mustRunning(t *testing.T, dir string) []process.Process {
	t.Helper()
	list, err := running(dir)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// invoke runs the command and returns stdout, stderr and the exit code.
func invoke(t *testing.T, args ...string) (string, string, int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tests.command, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		t.Fatalf("controlplane %s: %v", strings.Join(args, " "), err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// must is invoke for a call that has to succeed.
func must(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, code := invoke(t, args...)
	if code != 0 {
		t.Fatalf("controlplane %s: exit code %d\n%s%s", strings.Join(args, " "), code, stdout, stderr)
	}
	return stdout
}

// upFor starts an instance and brings it down at the end of the test.
func upFor(t *testing.T, name string) string {
	t.Helper()
	dir := tests.instance(name)
	t.Cleanup(func() {
		if out, err := exec.Command(tests.command, "down", "--dir", dir).CombinedOutput(); err != nil {
			t.Errorf("down: %v\n%s", err, out)
		}
	})
	must(t, "up", "--dir", dir, "--nodes", "1")
	return dir
}

func statusOf(t *testing.T, dir string) (controlplane.Status, int) {
	t.Helper()
	stdout, stderr, code := invoke(t, "status", "--dir", dir, "-o", "json")
	var status controlplane.Status
	if err := json.Unmarshal([]byte(stdout), &status); err != nil {
		t.Fatalf("status: %v\n%s%s", err, stdout, stderr)
	}
	return status, code
}

// kubectl runs the instance's own kubectl with input on stdin.
func kubectl(t *testing.T, dir, input string, args ...string) string {
	t.Helper()
	i, err := controlplane.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), i.Kubectl(), args...)
	cmd.Env = []string{"KUBECONFIG=" + i.Kubeconfig(), "HOME=" + t.TempDir()}
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// deployment writes a Deployment of two pods with the given image and pod label.
func deployment(name, image, label string) string {
	return fmt.Sprintf(`
apiVersion: apps/v1
kind: Deployment
metadata: {name: %[1]s}
spec:
  replicas: 2
  progressDeadlineSeconds: 3
  selector: {matchLabels: {app: %[1]s}}
  template:
    metadata: {labels: {app: %[1]s, %[3]s}}
    spec: {containers: [{name: main, image: %[2]q}]}
`, name, image, label)
}
