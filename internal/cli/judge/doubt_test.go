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
	dir := commandline.Folder(t, map[string]string{
		"policies/named/named.rego": `# METADATA
# title: Pods are named
# custom:
#   id: named
#   match: {resources: [{apiGroups: [""], kinds: [Pood]}]}
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
	if text := stderr.String(); !strings.Contains(text, "warning: ") || !strings.Contains(text, "did you mean Pod?") {
		t.Errorf("it warns of %q", text)
	}
}
