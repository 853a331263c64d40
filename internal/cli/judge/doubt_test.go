// SPDX-License-Identifier: Apache-2.0

package judge

import (
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
	_, message, code := commandline.Invoke(t, newCheckCommand(), "-p", filepath.Join(dir, "policies"),
		filepath.Join(dir, "pod.yaml"))
	if code != 0 || !strings.Contains(message, "warning: ") || !strings.Contains(message, "did you mean Pod?") {
		t.Errorf("code %d: %q", code, message)
	}
}
