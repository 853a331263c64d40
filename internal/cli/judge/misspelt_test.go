// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/test/commandline"
)

const onCertificates = `apiVersion: evenkeel.dev/v1alpha1
kind: ClusterRegoPolicy
metadata: {name: certificates}
spec:
  title: T
  match: {kinds: [{apiGroups: [cert-manager.io], kinds: [Certificate]}, {apiGroups: [apps], kinds: [Deployment]}]}
  rego: {main: "package p\n\nimport rego.v1\n\ndeny contains \"no\" if input.object.spec.no"}
`

// A kind that is misspelt is judged by no policy; "0 violations" of it would pass for all being well.
func TestCheckAndFixWarnOnceOfAMisspeltKind(t *testing.T) {
	manifestOf := func(version, kind string) string {
		return "apiVersion: " + version + "\nkind: " + kind + "\nmetadata: {name: x}\n"
	}
	for name, tc := range map[string]struct{ manifest, want string }{
		"a letter's case": {manifestOf("v1", "pod"),
			`the kind "pod" of v1, so that none judges it; did you mean Pod?`},
		"letters that changed places":   {manifestOf("apps/v1", "Deploymnet"), "did you mean Deployment?"},
		"a group that has no such kind": {manifestOf("v1", "Deployment"), `did you mean the group "apps"?`},
		"a kind of others that policies match": {manifestOf("cert-manager.io/v1", "certificate"),
			`the kind "certificate" of cert-manager.io/v1, so that none judges it; did you mean Certificate?`},
		"a kind of Evenkeel": {manifestOf("evenkeel.dev/v1alpha1", "Waivr"), "did you mean Waiver?"},
		"twice the same":     {manifestOf("v1", "pod") + "---\n" + manifestOf("v1", "pod"), "did you mean Pod?"},

		"a kind of Kubernetes that no policy matches":     {manifestOf("v1", "ConfigMap"), ""},
		"a kind of others, unlike those that are matched": {manifestOf("cert-manager.io/v1", "Issuer"), ""},
		"a kind that is matched":                          {manifestOf("apps/v1", "Deployment"), ""},
		"a kind that the manifests define": {manifestOf("cert-manager.io/v1", "Certificates") + `---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: c}
spec: {group: cert-manager.io, names: {kind: Certificates}}
`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir := commandline.Folder(t, map[string]string{"p.yaml": onCertificates, "m/m.yaml": tc.manifest})
			for _, cmd := range []*cobra.Command{newCheckCommand(), newFixCommand()} {
				var stdout, stderr bytes.Buffer
				cmd.SetArgs([]string{"-p", filepath.Join(dir, "p.yaml"), filepath.Join(dir, "m")})
				cmd.SetOut(&stdout)
				cmd.SetErr(&stderr)
				if err := cmd.ExecuteContext(t.Context()); err != nil {
					t.Errorf("%s ends with %v", cmd.Name(), err)
				}
				warned := strings.Count(stderr.String(), "warning: ")
				if tc.want == "" && warned > 0 || tc.want != "" && warned != 1 {
					t.Errorf("%s warns %d times:\n%s", cmd.Name(), warned, stderr.String())
				}
				if !strings.Contains(stderr.String(), tc.want) ||
					tc.want != "" && !strings.Contains(stderr.String(), "m.yaml:2: ") {
					t.Errorf("%s says %q, want %q at line 2", cmd.Name(), stderr.String(), tc.want)
				}
			}
		})
	}
}
