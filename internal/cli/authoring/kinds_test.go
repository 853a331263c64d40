// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/internal/cli/command"
	"evenkeel.dev/evenkeel/test/commandline"
)

// crds define a Widget in two versions that are served and one that isn't any more.
const crds = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.example.com}
spec:
  group: example.com
  names: {kind: Widget, plural: widgets}
  scope: Namespaced
  versions:
  - {name: v1alpha1, served: true, storage: false}
  - {name: v1beta2, served: true, storage: true}
  - {name: v2, served: false, storage: false}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
`

func TestANewPolicyTakesAKindOfCRDs(t *testing.T) {
	tests := map[string]struct {
		reason string
		args   []string
		code   int
		want   string
	}{
		"by its name": {"it is in the files",
			[]string{"--kind", "Widget"}, 0, "example.com/v1beta2"},
		"with its group": {"as kubectl names it",
			[]string{"--kind", "Widget.example.com"}, 0, "example.com/v1beta2"},
		"with its group apart": {"by a flag",
			[]string{"--kind", "widget", "--group", "example.com"}, 0, "example.com/v1beta2"},
		"in full": {"what is written counts",
			[]string{"--kind", "Widget.example.com/v1"}, 0, "example.com/v1"},
		"one of Kubernetes": {"beside those of the files",
			[]string{"--kind", "Deployment"}, 0, "apps/v1"},
		"of another group": {"it isn't guessed",
			[]string{"--kind", "Widget.example.org"}, command.ExitUsage, "no CustomResourceDefinition of"},
		"a group that is twice": {"one of them is wrong",
			[]string{"--kind", "Widget.a", "--group", "b"}, command.ExitUsage, "leave --group out"},
		"a kind of Kubernetes with its group": {"in its newest version",
			[]string{"--kind", "deployment.apps"}, 0, "apps/v1"},
		"a misspelt kind of the files": {"it is asked after",
			[]string{"--kind", "Wigdet"}, command.ExitUsage, "did you mean Widget?\nno CustomResourceDefinition of "},
		"a misspelt kind of the files with its group": {"both",
			[]string{"--kind", "Widgt.example.com"}, command.ExitUsage, "did you mean Widget.example.com?"},
		"a kind of the files in a misspelt group": {"it is asked after",
			[]string{"--kind", "Widget.exmaple.com"}, command.ExitUsage, "did you mean Widget.example.com?"},
		"a misspelt kind of Kubernetes": {"beside those of the files",
			[]string{"--kind", "Depoyment"}, command.ExitUsage, "did you mean Deployment?"},
		"a kind of Kubernetes in a misspelt group": {"its own group is asked after",
			[]string{"--kind", "Deployment.app"}, command.ExitUsage, "did you mean Deployment.apps?"},
		"a kind that nobody has": {"it is told",
			[]string{"--kind", "Gadget"}, command.ExitUsage, `--kind "Gadget" is no kind of Kubernetes`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "policies")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "crds.yaml")
			if err := os.WriteFile(file, []byte(crds), 0o600); err != nil {
				t.Fatal(err)
			}
			args := append([]string{"policy", "sized-widgets", "--dir", dir, "--crds", file}, tt.args...)
			_, message, code := commandline.Invoke(t, newNewCommand(), args...)
			got := message
			if code == 0 {
				text, err := os.ReadFile(filepath.Join(dir, "sized_widgets", "examples.yaml"))
				if err != nil {
					t.Fatal(err)
				}
				got = string(text)
			}
			if code != tt.code || !strings.Contains(got, tt.want) {
				t.Errorf("%s: code %d, want %d, and %q in\n%s", tt.reason, code, tt.code, tt.want, got)
			}
		})
	}
}

func TestANewPolicyOfAKindWithoutVersionSaysThatNobodyCouldBeAsked(t *testing.T) {
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	t.Setenv("HOME", t.TempDir())
	_, message, code := commandline.Invoke(t, newNewCommand(), "policy", "a", "--dir", t.TempDir(), "--kind",
		"Widget.example.com")
	for _, part := range []string{"names no version", "for example Widget.example.com/v1", "by --crds",
		"the cluster couldn't be asked"} {
		if code != command.ExitUsage || !strings.Contains(message, part) {
			t.Errorf("code %d, message %q, want %q", code, message, part)
		}
	}
}
