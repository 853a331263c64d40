// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

// copied is one policy of the library with its shared library, changed.
func copied(t *testing.T, changes ...string) string {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{"lib", "security/host_namespaces"} {
		if err := os.CopyFS(filepath.Join(top, dir), os.DirFS(filepath.Join(commandline.Library, dir))); err != nil {
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

// Of a link to nothing among policies, build and test say a word each: it might have led to more of them.
func TestALinkToNothingAmongPoliciesIsWarnedOf(t *testing.T) {
	top := copied(t)
	dir := filepath.Join(top, "security")
	if err := os.Symlink("../elsewhere", filepath.Join(dir, "more")); err != nil {
		t.Fatal(err)
	}
	for name, cmd := range map[string]*cobra.Command{"build": newBuildCommand(), "test": newTestCommand()} {
		out, _, code := commandline.Invoke(t, cmd, dir)
		want := "warning: " + filepath.Join(dir, "more") + ": it is a link to ../elsewhere, which isn't there: " +
			"correct the link, or remove it\n"
		if code != 0 || strings.Count(out, want) != 1 {
			t.Errorf("%s ends with code %d and says\n%s\nwant %q once", name, code, out, want)
		}
	}
	if err := os.Symlink("gone_test.rego", filepath.Join(dir, "host_namespaces/more_test.rego")); err != nil {
		t.Fatal(err)
	}
	for name, cmd := range map[string]*cobra.Command{"build": newBuildCommand(), "test": newTestCommand()} {
		out, message, code := commandline.Invoke(t, cmd, dir)
		if want := "more_test.rego: it is a link to gone_test.rego, which isn't there"; code == 0 ||
			!strings.Contains(out+message, want) {
			t.Errorf("%s ends with code %d and says %q of tests that aren't there", name, code, message)
		}
	}
}

func TestBuildPrintsTheLibrary(t *testing.T) {
	out, message, code := commandline.Invoke(t, newBuildCommand(), commandline.Library)
	if code != 0 {
		t.Fatalf("code %d: %s", code, message)
	}
	var names []string
	for line := range strings.Lines(out) {
		if name, found := strings.CutPrefix(line, "  name: "); found {
			names = append(names, strings.TrimSpace(name))
		}
	}
	want := libraryNames(t)
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("policies (-want +got):\n%s", diff)
	}
}

// libraryNames are the names of the library's policies: those of its directories.
func libraryNames(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(commandline.Library, "*", "*", "examples.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the library has no policy: %v", err)
	}
	var names []string
	for _, file := range files {
		names = append(names, strings.ReplaceAll(filepath.Base(filepath.Dir(file)), "_", "-"))
	}
	slices.Sort(names)
	return names
}

func TestBuildWritesTheSameToAFile(t *testing.T) {
	printed, _, _ := commandline.Invoke(t, newBuildCommand(), commandline.Library)
	file := filepath.Join(t.TempDir(), "policies.yaml")
	if out, message, code := commandline.Invoke(t, newBuildCommand(), commandline.Library, "-o", file); code != 0 ||
		out != "" {
		t.Fatalf("code %d, output %q: %s", code, out, message)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != printed {
		t.Errorf("the file differs from the printed policies (%v)", err)
	}
}

func TestBuildListsAllProblems(t *testing.T) {
	top := copied(t, "# organizations:\n#   - platform-security\n", "", "severity: Critical", "severity: critical")
	out, message, code := commandline.Invoke(t, newBuildCommand(), top)
	file := filepath.Join(top, "security/host_namespaces/host_namespaces.rego")
	want := "problems found: 2\n" +
		file +
		`:1: organizations: the owner is missing, and the policy refuses requests or remediates: name the team that answers for the rule, which is notified when it does harm` + "\n" +
		file +
		`:14: custom.severity: "critical" isn't supported: use one of Critical High Medium Low; did you mean Critical?`
	if code != command.ExitFailed || out != "" || message != want {
		t.Errorf("code %d, output %q, message\n%s\nwant code 1 and\n%s", code, out, message, want)
	}
}

func TestTestCountsInItsLastLine(t *testing.T) {
	out, message, code := commandline.Invoke(
		t, newTestCommand(), filepath.Join(commandline.Library, "security/host_namespaces"))
	if code != 0 || !strings.HasSuffix(out, "8 passed, 0 failed\n") {
		t.Errorf("code %d (%s), output\n%s\nwant code 0 and 8 passed, 0 failed", code, message, out)
	}
}

func TestTestPrintsWhatFailed(t *testing.T) {
	top := copied(t, `"hostIPC": "IPC"`, `"hostIPC": "mail"`)
	out, _, code := commandline.Invoke(t, newTestCommand(), top)
	for _, part := range []string{
		filepath.Join(top, "security/host_namespaces/examples.yaml") + ":18: a DaemonSet in three namespaces",
		"expected: violations:", "the node's mail namespace",
		filepath.Join(top, "security/host_namespaces/host_namespaces_test.rego:"),
		"passed, 2 failed\n",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("output has no %q:\n%s", part, out)
		}
	}
	if code != command.ExitFailed {
		t.Errorf("code %d, want %d", code, command.ExitFailed)
	}
}

func TestWrongUseEndsWithCodeTwo(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		part   string
	}{
		"no directory":      {"it says what to give", nil, "0 arguments given: give one directory"},
		"two directories":   {"one is taken", []string{commandline.Library, commandline.Library}, "2 arguments given"},
		"an unknown flag":   {"with the usage", []string{commandline.Library, "--fast"}, "unknown flag: --fast"},
		"a missing one":     {"the path is named", []string{"nowhere"}, "nowhere"},
		"a file, not a dir": {"a common slip", []string{"build.go"}, "is a file"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			for _, cmd := range []*cobra.Command{newBuildCommand(), newTestCommand()} {
				_, message, code := commandline.Invoke(t, cmd, tc.args...)
				if code != command.ExitUsage || !strings.Contains(message, tc.part) {
					t.Errorf("%s: %s: code %d, message %q, want code 2 and %q", cmd.Name(), tc.reason, code, message,
						tc.part)
				}
			}
		})
	}
}

// TestBuildWarnsOfWhatCanHardlyBeMeant: it builds, for a kind may be newer than the program.
func TestBuildWarnsOfWhatCanHardlyBeMeant(t *testing.T) {
	dir := commandline.Folder(t, map[string]string{"named/named.rego": `# METADATA
# title: Deployments are named
# custom:
#   id: named
#   match:
#     kinds:
#       - apiGroups: [apps]
#         kinds: [StatefulSet, Deploymnt]
#       - apiGroups: [example.com]
#         kinds: [Widget]
package named

import rego.v1

deny contains "no" if input.object.metadata.name == "x"

remediaton contains {"action": "none"} if input.object.metadata.name == "x"
`})
	out, message, code := commandline.Invoke(t, newBuildCommand(), dir)
	if code != 0 {
		t.Fatalf("code %d: %s", code, message)
	}
	file := filepath.Join(dir, "named/named.rego")
	if tested, _, _ := commandline.Invoke(t, newTestCommand(), dir); !strings.Contains(tested, "warning: "+file) {
		t.Errorf("the tests warn of nothing:\n%s", tested)
	}
	want := "warning: " + file +
		`:8: Kubernetes has no kind "Deploymnt" in the groups ["apps"]: the policy would judge ` +
		"nothing by it; did you mean Deployment?\nwarning: " + file +
		":17: nothing asks the rule remediaton, and there " +
		"is no rule remediation: did you mean that?\n"
	if warnings, _, _ := strings.Cut(out, "apiVersion:"); warnings != want {
		t.Errorf("it warns\n%s\nwant\n%s", warnings, want)
	}
}
