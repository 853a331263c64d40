// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestOnlyWhatComparesLargeValuesIsGuarded(t *testing.T) {
	cases := map[string]struct {
		rego string
		want bool
	}{
		"two parts of the input":   {`deny if input.object.spec == input.old.spec`, true},
		"a part and a literal":     {`deny if input.object.kind == "Pod"`, false},
		"a variable and a literal": {`deny if { some x in input.object.list; x == ["a", "b"] }`, false},
		"two variables":            {`deny if { some x in input.a; some y in input.b; x == y }`, true},
		"what a built-in gives as a text": {
			`deny if { some x in input.a; trim_suffix(x.path, "/") == input.path }`, false},
		"a text by another name": {
			`deny if { x := trim(input.a, "/"); y := x; some z in input.b; y == z }`, false},
		"what a built-in gives, of any type": {`deny if { x := object.get(input, "a", []); x == input.b }`, true},
		"what a built-in must give":          {`deny if { some x in input.a; x = json.unmarshal(input.b) }`, true},
		"an element of a rule that gives many": {
			"p contains x if some x in input.a\ndeny if { some y in input.b; p[y] }", true},
		"an entry of a rule by its key": {"p[x] := 1 if some x in input.a\ndeny if { some y in input.b; p[y] }",
			true},
		"an entry of one object":          {"p := {\"a\": 1}\ndeny if { some y in input.b; p[y] }", false},
		"arguments that must be the same": {"same(v, v) := 1\ndeny if same(input.a, input.b)", true},
		"a comprehension":                 {`deny if { some x in input.a; x == [y | some y in input.b] }`, true},
	}
	for name, tc := range cases {
		if got := compareLarge(t, map[string]string{"a.rego": "package a\n" + tc.rego}); got != tc.want {
			t.Errorf("%s: guarded %t, want %t", name, got, tc.want)
		}
	}
}

// A guard costs time at each step, which no policy of the library is to pay for.
func TestNoPolicyOfTheLibraryIsGuarded(t *testing.T) {
	library, _ := filepath.Glob("../../../../policies/lib/*.rego")
	files, err := filepath.Glob("../../../../policies/*/*/*.rego")
	if err != nil || len(library) == 0 {
		t.Fatal(err)
	}
	seen := 0
	for _, file := range files {
		if strings.HasSuffix(file, "_test.rego") {
			continue
		}
		modules := map[string]string{}
		for _, f := range append([]string{file}, library...) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(f, "_test.rego") {
				modules[f] = string(raw)
			}
		}
		if seen++; compareLarge(t, modules) {
			t.Errorf("%s compares two values which may both be large", file)
		}
	}
	if seen < 9 {
		t.Fatalf("found %d policies", seen)
	}
}

func compareLarge(t *testing.T, modules map[string]string) bool {
	t.Helper()
	parsed := map[string]*ast.Module{}
	for name, text := range modules {
		module, err := ast.ParseModuleWithOpts(name, text, ast.ParserOptions{RegoVersion: ast.RegoV1})
		if err != nil {
			t.Fatal(err)
		}
		parsed[name] = module
	}
	compiler := ast.NewCompiler()
	if compiler.Compile(parsed); compiler.Failed() {
		t.Fatal(compiler.Errors)
	}
	return lookAt(compiler).compares
}
