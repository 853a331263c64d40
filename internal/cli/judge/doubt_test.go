// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/test/commandline"
)

// TestCheckWarnsOfAKindThatCanHardlyBeMeant: such a policy finds nothing, which looks like a clean repository.
func TestCheckWarnsOfAKindThatCanHardlyBeMeant(t *testing.T) {
	for resource, meant := range map[string]string{
		`{apiGroups: [""], kinds: [Pood]}`:         "did you mean Pod?",
		`{apiGroups: [app], kinds: [Deployment]}`:  `did you mean the group "apps"?`,
		`{apiGroups: [core, v1], kinds: [Pod]}`:    `did you mean the group ""?`,
		`{apiGroups: [""], kinds: [Pod, Ingress]}`: `did you mean the group "networking.k8s.io"?`,
	} {
		warnsOf(t, resource, meant)
	}
}

func warnsOf(t *testing.T, resource, meant string) {
	t.Helper()
	dir := commandline.Folder(t, map[string]string{
		"policies/named/named.rego": `# METADATA
# title: Pods are named
# custom:
#   id: named
#   match: {kinds: [` + resource + `]}
package named

import rego.v1

deny contains "no" if input.object.metadata.name == "x"
`,
		"pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: x}}\n"})
	var stdout, stderr bytes.Buffer
	cmd := newCheckCommand()
	cmd.SetArgs([]string{"-p", filepath.Join(dir, "policies"), filepath.Join(dir, "pod.yaml")})
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	if text := stderr.String(); !strings.Contains(text, "warning: ") || !strings.Contains(text, meant) {
		t.Errorf("of %s it says %q, want %q", resource, text, meant)
	}
}

// TestCheckWarnsOfPoliciesInYAMLAsOfThoseInRego: what evenkeel build, or a person, has written as a manifest.
func TestCheckWarnsOfPoliciesInYAMLAsOfThoseInRego(t *testing.T) {
	const fine = `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: fine}
spec:
  title: T
  match: {kinds: [{apiGroups: [""], kinds: [Pod]}]}
  rego: {main: "package fine\n\nimport rego.v1\n\ndeny contains \"no\" if input.object.metadata.name == \"y\"\n"}
`
	const doubtful = `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: doubtful}
spec:
  title: T
  match:
    kinds:
    - apiGroups: [apps]
      kinds:
      - Deployment
      - StatefulSett
  rego:
    main: |
      package doubtful

      import rego.v1

      warn contains "no" if input.object.metadata.name == "z"

      denny contains "no" if input.object.metadata.name == "y"
`
	dir := commandline.Folder(t, map[string]string{"policies/p.yaml": fine + "---\n" + doubtful,
		"pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: x}}\n"})
	var stdout, stderr bytes.Buffer
	cmd := newCheckCommand()
	cmd.SetArgs([]string{"-p", filepath.Join(dir, "policies"), filepath.Join(dir, "pod.yaml")})
	cmd.SetOut(&stdout)
	cmd.SetErr(&stderr)
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`p.yaml:19: Kubernetes has no kind "StatefulSett" in the groups ["apps"]: the policy would judge nothing ` +
			"by it; did you mean StatefulSet?",
		"p.yaml:21: main.rego:7: nothing asks the rule denny, and there is no rule deny: did you mean that?",
	} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("no %q in\n%s", want, stderr.String())
		}
	}
	if n := strings.Count(stderr.String(), "warning: "); n != 2 {
		t.Errorf("%d warnings, want 2:\n%s", n, stderr.String())
	}
}
