// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"errors"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// TestOPAsCommonestMessagesHaveHelp: OPA itself is asked, so that another wording of
// its fails here.
func TestOPAsCommonestMessagesHaveHelp(t *testing.T) {
	const header = "package test\n\nimport rego.v1\n\n"
	cases := map[string]struct{ reason, rego, said, help string }{
		"a body without if": {"Rego v0", header + "p { input.x }", "`if` keyword is required",
			"opa fmt --write --v0-v1"},
		"a set without contains": {"Rego v0", header + "p[x] if { x := 1 }\n\ndeny[msg] { msg := \"x\" }",
			"keyword is required", "Rego v0"},
		"a bracket that isn't closed": {"the place is after the mistake", header + "p if {\n\tx := [1,\n}",
			"rego_parse_error",
			"just before this place"},
		"an unsafe variable": {"nothing binds it", header + "p if { x == 1; not q(y) }\n\nq(_) if true", "is unsafe",
			"bind it"},
		"a function that nobody has": {"perhaps misspelt", header + "p if cuont(input.x) > 1",
			"undefined function cuont",
			"did you mean count?"},
		"a library that isn't there": {"it must be copied", header + "p if data.lib.pods.root(input)",
			"undefined function data.lib.pods.root", "into lib/"},
		"rules of two forms": {"a set and a value", header + "p contains 1\n\np := 2", "conflicting rules",
			"of one form"},
		"an argument too few": {"the function says how many", header + "p if contains(\"a\")", "arity",
			"as many arguments"},
		"an argument of another type": {"the function says what it wants", header + "p if count(3) > 1",
			"invalid argument(s)", "of the types that it wants"},
		"a variable that has a value": {"perhaps == was meant", header + "p if { x := 1; x := 2; x > 0 }",
			"assigned above", "compare by =="},
		"a variable that is declared twice": {"one is too many", header + "p if { some x; some x; x = 1 }",
			"declared above", "declare the variable once"},
		"a variable that is used before": {"it comes too late", header + "p if { y > 0; y := input.y }",
			"referenced above", "before its first use"},
		"a declaration that nothing uses": {"strict mode", header + "p if { some x; input.y }", "declared var x unused",
			"remove its declaration"},
		"types that never match": {"it would never hold", header + "p if count(input.x) == \"a\"", "match error",
			"one type"},
		"a rule that asks for itself": {"it would never end", header + "p if q\n\nq if p", "recursi", "walk("},
		"a variable that is never used": {"strict mode", header + "p if { x := 1 }", "assigned var x unused",
			"write `_`"},
		"an import that is never used": {"strict mode", header + "import data.test.q\n\np := 1\n\nq := 2", "unused",
			"remove the import"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sources := []v1alpha1.RegoLibrary{{Name: "test.rego", Source: tc.rego}}
			modules, err := compile.Parse(sources, v1alpha1.RegoV1)
			if err == nil {
				_, err = compile.Modules(v1alpha1.RegoV1, sources, modules)
			}
			var refused *compile.Error
			if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.said) {
				t.Fatalf("%s: error %v, want one with %q", tc.reason, err, tc.said)
			}
			_, help, found := strings.Cut(err.Error(), "\n  help: ")
			if !found || !strings.Contains(help, tc.help) || strings.Contains(help, "help: ") {
				t.Errorf("%s: %v\nwant one line of help with %q", tc.reason, err, tc.help)
			}
		})
	}
}
