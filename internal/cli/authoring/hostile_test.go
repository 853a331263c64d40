// SPDX-License-Identifier: Apache-2.0

package authoring

import (
	"os"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/test/commandline"
)

// TestPoliciesWriteNoLinesOfTheirOwn tests and builds what a pull request brings: names of files, metadata, Rego, names of
// tests and examples. A CI system runs both, and takes some lines for commands.
func TestPoliciesWriteNoLinesOfTheirOwn(t *testing.T) {
	const own = `\n::error::own\e[31m##[stop-commands]own`
	const header = "# METADATA\n# title: T\n# custom:\n#   severity: High\n" +
		"#   match: {kinds: [{apiGroups: [\"\"], kinds: [Pod]}]}\n"
	const rule = "package evenkeel.a\n\nimport rego.v1\n\ndeny contains \"x\" if input.object.x\n"
	const suite = "apiVersion: test.gatekeeper.sh/v1alpha1\nkind: Suite\n"
	rego := strings.NewReplacer(`\e`, `\u001b`).Replace(own)
	for name, files := range map[string]map[string]string{
		"a title":      {"a.rego": strings.Replace(header, "title: T", `title: "T`+own+`"`, 1) + rule},
		"a severity":   {"a.rego": strings.Replace(header, "High", `"H`+own+`"`, 1) + rule},
		"a custom key": {"a.rego": strings.Replace(header, "severity", `"s`+own+`"`, 1) + rule},
		"a kind":       {"a.rego": strings.Replace(header, "Pod", `"Pod`+own+`"`, 1) + rule},
		"a package":    {"a.rego": header + strings.Replace(rule, "evenkeel.a", `evenkeel["a`+rego+`"]`, 1)},
		"a file":       {"a\n::error::own##[error]own.rego": header + rule},
		"no Rego":      {"a\n::error::own##[error]own.rego": header + "package a\n\ndeny := "},
		"a file that begins a line": {"::error::own.rego": header + rule,
			"::error::own_test.rego": "package evenkeel.b_test\n\ntest_x := false"},
		"a directory":       {"a\n::error::own/a.rego": header + rule, "a\n::error::own/examples.yaml": "x"},
		"an unknown import": {"a.rego": header + rule + "\nimport data.evenkeel[\"b" + rego + "\"]\n"},
		"an example": {"a.rego": header + rule, "examples.yaml": `[{name: "e` + own + `", expect: {violations: ["m` + own +
			`"]}, object: {apiVersion: v1, kind: Pod, metadata: {name: "p` + own + `"}, x: 1}}]`},
		"an example's key": {"a.rego": header + rule, "examples.yaml": `[{name: e, "x` + own + `": 1}]`},
		"what a test prints": {"a.rego": header + rule, "a_test.rego": "package evenkeel.a_test\n\nimport rego.v1\n\n" +
			"test_a if {\n\tprint(\"p" + rego + "\")\n\tfalse\n}\n"},
		"an error of a test": {"a.rego": header + rule, "a_test.rego": "package evenkeel.a_test\n\nimport rego.v1\n\n" +
			"test_a if to_number(\"p" + rego + "\") == 1\n"},
		"a suite": {"suite.yaml": suite + `tests: [{name: "t` + own + `", template: "t` + own + `.yaml", constraint: "c` +
			own + `", cases: [{name: "c` + own + `", object: "o` + own + `.yaml"}]}]`},
		"a suite's assertions": {"suite.yaml": suite + `tests: [{name: t, template: t.yaml, constraint: c.yaml, cases: ` +
			`[{name: c, object: o.yaml, assertions: [{violations: "y` + own + `", message: "(` + own + `"}]}]}]`},
		"a suite's key": {"suite.yaml": suite + `{"x` + own + `": 1}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(commandline.Folder(t, files))
			if err := os.Symlink("b\n::error::own", "link"); err != nil {
				t.Fatal(err)
			}
			built, message, _ := commandline.Invoke(t, newBuildCommand(), ".", "-o", "built.yaml")
			tested, other, code := commandline.Invoke(t, newTestCommand(), ".")
			if code == 0 {
				t.Errorf("nothing fails")
			}
			// Main parts commands within the lines of errors.
			said := strings.ReplaceAll(message+"\n"+other, "##[", "## [")
			commandline.NoCommands(t, built+tested+"\n"+said)
		})
	}
}
