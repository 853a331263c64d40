// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/cli/authoring"
	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/internal/policy/directory"
	"evenkeel.dev/evenkeel/internal/suite"
	"evenkeel.dev/evenkeel/test/commandline"
)

// manifestOf writes an example as a person would, with comments, in a file.
func manifestOf(t *testing.T, dir string, example suite.Example) string {
	t.Helper()
	text, err := yaml.Marshal(example.Object)
	if err != nil {
		t.Fatal(err)
	}
	commented := "# Head of the file.\n"
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, " ") && !strings.HasPrefix(line, "-") {
			commented += "# About " + strings.TrimSpace(strings.Split(line, ":")[0]) + ".\n"
		}
		commented += line
	}
	if example.NamespaceObject != nil {
		namespace, err := yaml.Marshal(example.NamespaceObject)
		if err != nil {
			t.Fatal(err)
		}
		commented += "---\n" + string(namespace)
	}
	file := filepath.Join(dir, "manifest.yaml")
	if err := os.WriteFile(file, []byte(commented), 0o640); err != nil {
		t.Fatal(err)
	}
	return file
}

// policyOf writes a policy with the example's parameters in a file.
func policyOf(t *testing.T, dir string, definition *v1alpha1.ClusterRegoPolicy, example suite.Example) string {
	t.Helper()
	definition = definition.DeepCopy()
	if example.Parameters != nil {
		raw, err := json.Marshal(example.Parameters)
		if err != nil {
			t.Fatal(err)
		}
		definition.Spec.Parameters = &apiextensionsv1.JSON{Raw: raw}
	}
	text, err := directory.Render([]*v1alpha1.ClusterRegoPolicy{definition})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "policy.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Each example of the library that has a fix is written to a file, fixed there, and
// is clean then.
func TestFixThenCheckIsCleanForEveryExampleOfTheLibrary(t *testing.T) {
	tree, err := directory.Open(commandline.Library)
	if err != nil {
		t.Fatal(err)
	}
	policies, err := directory.LoadLocated(tree.FS, tree.Root)
	if err != nil {
		t.Fatal(err)
	}
	fixed := map[string]int{}
	for _, p := range policies {
		text, err := os.ReadFile(filepath.Join(tree.Top, p.Dir, suite.ExamplesFile))
		if err != nil {
			t.Fatal(err)
		}
		var examples []suite.Example
		if err := yaml.UnmarshalStrict(text, &examples); err != nil {
			t.Fatal(err)
		}
		for _, example := range examples {
			if example.Fixed == nil || example.Fixed == false {
				continue
			}
			fixed[p.Definition.Name]++
			t.Run(p.Definition.Name+"/"+example.Name, func(t *testing.T) { fixAndCheck(t, p.Definition, example) })
		}
	}
	for _, p := range policies {
		p.Definition.SetDefaults()
		offers := p.Definition.Spec.Remediation.Mode != v1alpha1.RemediationDisabled
		if offers != (fixed[p.Definition.Name] > 0) {
			t.Errorf("policy %s has %d examples of a fix, and offers one: %v", p.Definition.Name,
				fixed[p.Definition.Name], offers)
		}
	}
}

func fixAndCheck(t *testing.T, definition *v1alpha1.ClusterRegoPolicy, example suite.Example) {
	t.Helper()
	dir := t.TempDir()
	policy, file := policyOf(t, dir, definition, example), manifestOf(t, dir, example)
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, message, code := commandline.Invoke(t, newCheckCommand(), "-p", policy, "--fail-on", "audit",
		file); code != command.ExitFailed {
		t.Fatalf("before: check ends with code %d (%s), want %d\n%s", code, message, command.ExitFailed, out)
	}
	if out, message, code := commandline.Invoke(t, newFixCommand(), "-p", policy, file); code != 0 {
		t.Fatalf("fix ends with code %d (%s)\n%s", code, message, out)
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out, message, code := commandline.Invoke(t, newCheckCommand(), "-p", policy, "--fail-on", "audit",
		file); code != 0 {
		t.Errorf("after: check ends with code %d (%s)\n%s\n%s", code, message, out, after)
	}
	for line := range bytes.Lines(before) {
		if line[0] == '#' && !bytes.Contains(after, line) {
			t.Errorf("the comment %q is lost:\n%s", line, after)
		}
	}
	if want, isManifest := example.Fixed.(map[string]any); isManifest {
		var got map[string]any
		if err := yaml.Unmarshal(bytes.SplitN(after, []byte("---\n"), 2)[0], &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the fixed object (-want +got):\n%s", diff)
		}
	}
	if out, _, code := commandline.Invoke(t, newFixCommand(), "-p", policy, file); code != 0 ||
		!strings.Contains(out, "0 fixed in 0 files, 0 left") {
		t.Errorf("a second time: code %d\n%s", code, out)
	}
	if again, err := os.ReadFile(file); err != nil || !bytes.Equal(again, after) {
		t.Errorf("fixing twice changes the file (%v)", err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("the file's mode isn't what it was: %v (%v)", info.Mode(), err)
	}
}

const agent = `apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent} # ours
spec:
  selector: {matchLabels: {app: agent}}
  template:
    metadata: {labels: {app: agent}}
    spec:
      hostNetwork: true
      containers: [{name: agent, image: registry.example.com/agent:1}]
`

func TestFixSaysWhatItDoes(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("agent.yaml", []byte(agent), 0o600); err != nil {
		t.Fatal(err)
	}
	removed := strings.Replace(agent, "      hostNetwork: true\n", "", 1)
	out, message, code := commandline.Invoke(t, newFixCommand(), "--only", "host-namespaces", "--dry-run", "agent.yaml")
	for _, part := range []string{"--- a/agent.yaml\n+++ b/agent.yaml\n", "\n-      hostNetwork: true\n",
		"agent.yaml:9 host-namespaces: remove /spec/template/spec/hostNetwork\n", "1 to fix in 1 file, 0 left\n"} {
		if !strings.Contains(out, part) {
			t.Errorf("the dry run's output has no %q:\n%s", part, out)
		}
	}
	if code != command.ExitFailed {
		t.Errorf("the dry run ends with code %d (%s), want %d", code, message, command.ExitFailed)
	}
	if text, err := os.ReadFile("agent.yaml"); err != nil || string(text) != agent {
		t.Fatalf("the dry run changed the file (%v)", err)
	}
	if out, message, code := commandline.Invoke(t, newFixCommand(), "--only", "host-namespaces",
		"agent.yaml"); code != 0 ||
		out != "agent.yaml:9 host-namespaces: remove /spec/template/spec/hostNetwork\n1 fixed in 1 file, 0 left\n" {
		t.Errorf("code %d (%s), output\n%s", code, message, out)
	}
	if text, err := os.ReadFile("agent.yaml"); err != nil || string(text) != removed {
		t.Errorf("the file is\n%s (%v)\nwant\n%s", text, err, removed)
	}
}

func TestFixIsAFilter(t *testing.T) {
	for name, tc := range map[string]struct{ in, want string }{
		"something is wrong": {agent, strings.Replace(agent, "      hostNetwork: true\n", "", 1)},
		"nothing is wrong": {"# only\nkind: ConfigMap\napiVersion: v1\n",
			"# only\nkind: ConfigMap\napiVersion: v1\n"},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := newFixCommand()
			cmd.SetIn(strings.NewReader(tc.in))
			var stdout, stderr bytes.Buffer
			cmd.SetArgs([]string{"--only", "host-namespaces", "-"})
			cmd.SetOut(&stdout)
			cmd.SetErr(&stderr)
			if err := cmd.ExecuteContext(t.Context()); err != nil {
				t.Fatal(err)
			}
			if stdout.String() != tc.want {
				t.Errorf("output\n%s\nwant\n%s", stdout.String(), tc.want)
			}
			if !strings.Contains(stderr.String(), "fixed in") {
				t.Errorf("what was done isn't told: %s", stderr.String())
			}
		})
	}
}

func TestFixLeavesWhatItCannotRead(t *testing.T) {
	t.Chdir(t.TempDir())
	chart := agent + "---\n{{- if .Values.extra }}\nkind: Pod\n{{ end }}\n"
	for name, text := range map[string]string{"chart.yaml": chart, "good.yaml": agent} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	out, message, code := commandline.Invoke(t, newFixCommand(), "--only", "host-namespaces", ".")
	if code != command.ExitFailure || !strings.Contains(message, "chart.yaml:11: it looks like a template") {
		t.Errorf("code %d, message %q, want %d and the template's place", code, message, command.ExitFailure)
	}
	if !strings.Contains(out, "good.yaml:9") {
		t.Errorf("the good file wasn't fixed:\n%s", out)
	}
	if text, err := os.ReadFile("chart.yaml"); err != nil || string(text) != chart {
		t.Errorf("the file that can't be read was changed (%v):\n%s", err, text)
	}
}

func TestFixRefusesWrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		part string
		code int
	}{
		"no path":                 {nil, "no PATH given", command.ExitUsage},
		"a filter beside files":   {[]string{"-", "a.yaml"}, "standard input is fixed alone", command.ExitUsage},
		"an unknown flag":         {[]string{"--force", "a.yaml"}, "unknown flag", command.ExitUsage},
		"an unknown policy":       {[]string{"--only", "no-such", commandline.Library}, "no-such", command.ExitUsage},
		"a file that isn't there": {[]string{"nowhere.yaml"}, "nowhere.yaml", command.ExitFailure},
	} {
		t.Run(name, func(t *testing.T) {
			if _, message, code := commandline.Invoke(t, newFixCommand(), tc.args...); code != tc.code ||
				!strings.Contains(message, tc.part) {
				t.Errorf("code %d, message %q, want code %d and %q", code, message, tc.code, tc.part)
			}
		})
	}
}

func TestADiffTellsNoSecret(t *testing.T) {
	t.Chdir(t.TempDir())
	const text = "apiVersion: v1\nkind: Secret\nmetadata: {name: key, labels: {a: b}}\nstringData:\n  password: " +
		"correct-horse\n"
	if err := os.WriteFile("key.yaml", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, message, code := commandline.Invoke(t, commandline.Named(t, authoring.Commands(), "new"), "policy", "team",
		"--kind", "Secret", "--with-fix"); code != 0 {
		t.Fatal(message)
	}
	out, _, code := commandline.Invoke(t, newFixCommand(), "--dry-run", "-p", "team", "key.yaml")
	if code != command.ExitFailed ||
		!strings.Contains(out, "+metadata: {name: key, labels: {a: b, team: unassigned}}") {
		t.Fatalf("code %d, output\n%s", code, out)
	}
	if strings.Contains(out, "correct-horse") {
		t.Error(fmt.Sprint("a Secret's value is told:\n", out))
	}
}

// TestFixPutsNoNamespaceInAnothersPlace fixes an object whose namespace is no text: YAML reads no as false.
func TestFixPutsNoNamespaceInAnothersPlace(t *testing.T) {
	t.Chdir(t.TempDir())
	written := strings.Replace(agent, "{name: agent}", "{name: agent, namespace: no}", 1)
	if err := os.WriteFile("agent.yaml", []byte(written), 0o600); err != nil {
		t.Fatal(err)
	}
	out, message, _ := commandline.Invoke(t, newFixCommand(), "--only", "host-namespaces", "agent.yaml")
	text, err := os.ReadFile("agent.yaml")
	if err != nil || !strings.Contains(string(text), "{name: agent, namespace: no}") ||
		strings.Contains(string(text), "hostNetwork") {
		t.Errorf("%v: fix has written\n%s\nand says %s%s", err, text, out, message)
	}
}
