// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"evenkeel.dev/evenkeel/test/commandline"
)

const waiverBegin = "apiVersion: evenkeel.dev/v1alpha1\nkind: Waiver\nmetadata: "

// What checks pull requests runs where lines that begin with "::" are commands, and whoever opens one writes the
// manifests, the policies beside them and their names.
func TestManifestsWriteNoLinesOfTheirOwn(t *testing.T) {
	const own = `\n::error::own\e[31m\r##[stop-commands]own`
	policyWith := func(metadata, match, file, rego string) string {
		return "apiVersion: evenkeel.dev/v1alpha1\nkind: ClusterRegoPolicy\nmetadata: {name: " + metadata + "}\n" +
			"spec:\n  title: T\n  match: {" + match + "kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}\n" +
			"  rego: {file: \"" + file + "\", main: \"" + rego + "\"}\n"
	}
	for name, tc := range map[string]struct {
		file, text string
		args       []string
	}{
		"names of an object": {"p.yaml", strings.NewReplacer("debug", `"d`+own+`"`, "shop", `"s`+own+`"`).Replace(
			privilegedPod), nil},
		"a namespace that begins a line": {"p.yaml", strings.ReplaceAll(privilegedPod, "shop", `"::error::own"`),
			[]string{"--summary"}},
		"keys of labels":           {"p.yaml", strings.Replace(privilegedPod, "{name", `{labels: {"x`+own+`": 5}, name`, 1), nil},
		"a kind":                   {"p.yaml", `{apiVersion: "v1` + own + `", kind: "pod` + own + `"}`, nil},
		"a kind without a version": {"p.yaml", `{kind: "Pod` + own + `"}`, nil},
		"no YAML":                  {"p.yaml", `{"a` + own + `": 1, "a` + own + `": 2}`, nil},
		"a waiver's namespace": {"p.yaml", waiverBegin + `{name: aw, namespace: "shop` + own + `"}` + "\nspec: " +
			"{policies: [x], match: {names: [\"a/b\"]}, reason: r, expirationTime: \"2999-01-01T00:00:00Z\"}\n", nil},
		"a waiver's names": {"p.yaml", waiverBegin + `{name: "aw` + own + `"}` + "\nspec: {match: {names: [\"a" + own +
			"\"]}, reason: \"r" + own + "\", expirationTime: \"2999-01-01T00:00:00Z\"}\n", nil},
		"a waiver's reason": {"p.yaml", privilegedPod + "---\n" + waiverBegin + "{name: aw, namespace: shop}\nspec: " +
			"{policies: [privileged-containers], match: {}, reason: \"r" + own +
			"\", expirationTime: \"2999-01-01T00:00:00Z\"}\n", nil},
		"a key of a waiver's selector": {"p.yaml", waiverBegin + "{name: aw}\nspec: {match: {objectSelector: " +
			"{matchLabels: {\"x" + own + "\": 5}}}}\n", nil},
		"an unknown field of a waiver": {"p.yaml", waiverBegin + "{name: aw}\nspec: {\"x" + own + "\": 5}\n", nil},
		"a key of a policy's selector": {"p.yaml", policyWith("p", `namespaceSelector: {matchLabels: {"x`+own+`": 5}}, `,
			"p.rego", "package p"), []string{"-p", "p.yaml"}},
		"a policy's module": {"p.yaml", policyWith("p", "", "p"+own, "package p\\n\\ndeny := "),
			[]string{"-p", "p.yaml"}},
		"a policy's rules that nothing asks": {"p.yaml", policyWith("p", "", "p"+own,
			"package p\\n\\nimport rego.v1\\n\\ndenny contains 1"), []string{"-p", "p.yaml"}},
		"a constraint": {"p.yaml", `{apiVersion: constraints.gatekeeper.sh/v1beta1, kind: "K` + own +
			`", metadata: {name: "n` + own + `"}, spec: {}}`, []string{"-p", "p.yaml"}},
		"a template": {"p.yaml", `{apiVersion: templates.gatekeeper.sh/v1, kind: ConstraintTemplate, metadata: {name: "n` +
			own + `"}, spec: {crd: {spec: {names: {kind: "K` + own + `"}}}}}`, []string{"-p", "p.yaml"}},
		"a file that begins a line": {"::error::own.yaml", privilegedPod, nil},
		"a file that parts a line":  {"p##[error]own.yaml", privilegedPod, nil},
		"an image": {"p.yaml", strings.Replace(privilegedPod, "image: ", "image: \"x##[error]own\" #", 1),
			nil},
		"an unreadable file that begins a line": {"::error::own.yaml", "a: {", nil},
		"a file of two lines":                   {"p\n::error::own.yaml", privilegedPod, nil},
		"a directory of two lines":              {"p\n::error::own/Chart.yaml", "name: c", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(commandline.Folder(t, map[string]string{tc.file: tc.text}))
			for _, cmd := range []*cobra.Command{newCheckCommand(), newFixCommand()} {
				args := append([]string{"."}, tc.args...)
				if cmd.Name() == "fix" && tc.args != nil && tc.args[0] == "--summary" {
					continue
				}
				var told bytes.Buffer
				cmd.SetArgs(args)
				cmd.SetOut(&told)
				cmd.SetErr(&told)
				cmd.SilenceErrors, cmd.SilenceUsage = true, true
				if err := cmd.ExecuteContext(t.Context()); err != nil {
					told.WriteString("evenkeel: " + err.Error() + "\n") // as main prints it
				}
				t.Log(cmd.Name())
				commandline.NoCommands(t, told.String())
			}
		})
	}
}
