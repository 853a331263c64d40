// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

func TestTestRunsWhatIsChosen(t *testing.T) {
	dir := filepath.Join(copied(t), "security/host_namespaces")
	all, message, code := commandline.Invoke(t, newTestCommand(), dir)
	if code != 0 || !strings.Contains(all, "host_namespaces.rego  100.0 %") {
		t.Fatalf("code %d, %s: the coverage of each file isn't told:\n%s", code, message, all)
	}
	chosen, message, code := commandline.Invoke(t, newTestCommand(), dir, "--run", "^host-namespaces/")
	if code != 0 || strings.Contains(chosen, "coverage") || chosen == all {
		t.Errorf("code %d, %s: the examples alone are\n%s\nand all is\n%s", code, message, chosen, all)
	}
	for pattern, want := range map[string]int{"no such test": command.ExitFailed, "(": command.ExitUsage} {
		if _, message, code := commandline.Invoke(t, newTestCommand(), dir, "--run", pattern); code != want {
			t.Errorf("--run %q ends with code %d, want %d: %s", pattern, code, want, message)
		}
	}
}

// TestTestRunsSuitesOfGator: a directory of them needs no policy, and where there are policies too all counts.
func TestTestRunsSuitesOfGator(t *testing.T) {
	dir := filepath.Join(copied(t), "security/host_namespaces")
	write := func(dir string) {
		t.Helper()
		suite := "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\ntests:\n" +
			"- {name: t, cases: [{name: c, object: o.yaml}, {name: d, skip: true}]}\n"
		if err := os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte(suite), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	alone := t.TempDir()
	write(alone)
	write(dir)
	// As libraries for Gatekeeper have it: the source of a template, in Rego v0, beside its suite.
	beside := t.TempDir()
	write(beside)
	source := "package src\n\nviolation[{\"msg\": \"x\"}] { input.review.object.a == 1 }\n"
	if err := os.WriteFile(filepath.Join(beside, "src.rego"), []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct{ dir, want string }{
		"alone":                 {alone, "0 passed, 1 failed, 1 skipped"},
		"beside Rego of others": {beside, "0 passed, 1 failed, 1 skipped"},
		"beside policies":       {dir, " passed, 1 failed, 1 skipped"},
	} {
		out, message, code := commandline.Invoke(t, newTestCommand(), tc.dir, "--min-coverage", "0")
		if code != command.ExitFailed || !strings.Contains(out, "suite.yaml: t\n") || !strings.Contains(out, tc.want) {
			t.Errorf("%s: code %d, %s\n%s", name, code, message, out)
		}
	}
}

// TestTestWatches: a change runs the tests again, and what it broke is told.
func TestTestWatches(t *testing.T) {
	top := copied(t)
	file := filepath.Join(top, "security/host_namespaces/host_namespaces.rego")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		o := &testOptions{coverage: 100, watch: true}
		ended <- o.watchTests(ctx, write, filepath.Dir(file))
		_ = write.Close()
	}()
	lines := bufio.NewScanner(read)
	until := func(part string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), part) {
				return
			}
		}
		t.Fatalf("it ended before it said %q", part)
	}
	until("0 failed")
	until("watching ")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), "deny contains", "denny contains", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	until("did you mean deny by denny?")
	until("watching ")
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("its end is an error: %v", err)
	}
}
