package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

const library = "../../policies"

// invoke runs a subcommand and gives what it prints and the code that it ends with.
func invoke(t *testing.T, cmd *cobra.Command, args ...string) (out, message string, code int) {
	t.Helper()
	var stdout bytes.Buffer
	cmd.SetOut(&stdout)
	cmd.SetErr(&stdout)
	cmd.SetArgs(args)
	cmd.SilenceErrors = true
	err := cmd.ExecuteContext(t.Context())
	if err == nil {
		return stdout.String(), "", 0
	}
	var coded *exitError
	if !errors.As(err, &coded) {
		t.Fatalf("error without an exit code: %v", err)
	}
	return stdout.String(), err.Error(), coded.ExitCode()
}

// copied is one policy of the library with its shared library, changed.
func copied(t *testing.T, changes ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"lib", "security/host_namespaces"} {
		if err := os.CopyFS(filepath.Join(top, dir), os.DirFS(filepath.Join(library, dir))); err != nil {
			t.Fatal(err)
		}
	}
	file := filepath.Join(top, "security/host_namespaces/host_namespaces.rego")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.NewReplacer(changes...).Replace(string(text))
	if err := os.WriteFile(file, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return top
}

func TestBuildPrintsTheLibrary(t *testing.T) {
	out, message, code := invoke(t, newBuildCommand(), library)
	if code != 0 {
		t.Fatalf("code %d: %s", code, message)
	}
	var names []string
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(line, "  name: "); found {
			names = append(names, strings.TrimSpace(name))
		}
	}
	want := []string{
		"allowed-registries", "host-namespaces", "immutable-tags", "no-exec", "owner-labels",
		"privileged-containers", "readonly-root-filesystem", "resource-limits", "run-as-nonroot",
	}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

func TestBuildWritesTheSameToAFile(t *testing.T) {
	printed, _, _ := invoke(t, newBuildCommand(), library)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	if out, message, code := invoke(t, newBuildCommand(), library, "-o", file); code != 0 || out != "" {
		t.Fatalf("code %d, output %q: %s", code, out, message)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != printed {
		t.Errorf("the file differs from the printed policies (%v)", err)
	}
}

func TestBuildListsAllProblems(t *testing.T) {
	top := copied(t, "# organizations:\n#   - platform-security\n", "", "severity: Critical", "severity: critical")
	out, message, code := invoke(t, newBuildCommand(), top)
	file := filepath.Join(top, "security/host_namespaces/host_namespaces.rego")
	want := "problems found: 2\n" +
		file + `:1: organizations: the owner is missing, and the policy refuses requests or remediates: name the team that answers for the rule, which is told when it does harm` + "\n" +
		file + `:14: custom.severity: "critical" isn't known: give one of Critical High Medium Low`
	if code != exitFailed || out != "" || message != want {
		t.Errorf("code %d, output %q, message\n%s\nwant code 1 and\n%s", code, out, message, want)
	}
}

func TestTestCountsInItsLastLine(t *testing.T) {
	out, message, code := invoke(t, newTestCommand(), filepath.Join(library, "security/host_namespaces"))
	if code != 0 || !strings.HasSuffix(out, "8 passed, 0 failed\n") {
		t.Errorf("code %d (%s), output\n%s\nwant code 0 and 8 passed, 0 failed", code, message, out)
	}
}

func TestTestPrintsWhatFailed(t *testing.T) {
	top := copied(t, `"hostIPC": "IPC"`, `"hostIPC": "mail"`)
	out, _, code := invoke(t, newTestCommand(), top)
	for _, part := range []string{
		filepath.Join(top, "security/host_namespaces/examples.yaml") + ": a DaemonSet in three namespaces",
		"expected: violations:", "the node's mail namespace",
		filepath.Join(top, "security/host_namespaces/host_namespaces_test.rego:"),
		"passed, 2 failed\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("output has no %q:\n%s", part, out)
		}
	}
	if code != exitFailed {
		t.Errorf("code %d, want %d", code, exitFailed)
	}
}

func TestWrongUseEndsWithCodeTwo(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		part   string
	}{
		"no directory":      {"it says what to give", nil, "0 arguments given: give one directory"},
		"two directories":   {"one is taken", []string{library, library}, "2 arguments given"},
		"an unknown flag":   {"with the usage", []string{library, "--fast"}, "unknown flag: --fast"},
		"a missing one":     {"the path is named", []string{"nowhere"}, "nowhere"},
		"a file, not a dir": {"a common slip", []string{"build.go"}, "is a file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, cmd := range []*cobra.Command{newBuildCommand(), newTestCommand()} {
				_, message, code := invoke(t, cmd, tc.args...)
				if code != exitUsage || !strings.Contains(message, tc.part) {
					t.Errorf("%s: %s: code %d, message %q, want code 2 and %q", cmd.Name(), tc.reason, code, message, tc.part)
				}
			}
		})
	}
}

func TestUnknownCommandsEndWithCodeTwo(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		part   string
	}{
		"a slip in the first word":    {"the commands are named", []string{"rolout", "get"}, `no command "rolout": give one of breaker`},
		"a slip in what rollout does": {"a script must not take it for done", []string{"rollout", "aprove", "web"}, `no command "aprove": give one of abort, approve`},
		"a slip in the kill switch":   {"a person must not take it for done", []string{"breaker", "opne", "global"}, `no command "opne": give one of close, list, open, reset`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			_, message, code := invoke(t, newRootCommand(), tc.args...)
			if code != exitUsage || !strings.Contains(message, tc.part) {
				t.Errorf("%s: code %d, message %q, want code 2 and %q", tc.reason, code, message, tc.part)
			}
			if lines := strings.Count(strings.TrimSpace(message), "\n"); lines > 2 {
				t.Errorf("the error is followed by %d lines, at most 2 leave it on the screen:\n%s", lines, message)
			}
		})
	}
}
