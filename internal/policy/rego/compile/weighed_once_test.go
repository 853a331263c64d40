// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestWhatIsTakenFromOneCollection(t *testing.T) {
	for text, want := range map[string]bool{
		`x := input.a[_].b`:                     true,
		`some y in input.a; x := y.b`:           true,
		`some x, _ in input.a`:                  true,
		`some y in input.a; y.c; x := y.b.d[1]`: true,
		`some _ in input.a; x := input.b`:       false,
		`some y in input.a; some x in y`:        false,
		`some x in input.a; some _ in input.b`:  false,
		`walk(input.a, [_, x])`:                 false,
		`some y in input.a; x := f(y)`:          false,
		`some y in input.a; x := input.b[y]`:    false,
	} {
		compiler := ast.MustCompileModules(
			map[string]string{"a.rego": "package a\nf(v) := v\np := [x | " + text + "]\n"})
		checked := false
		ast.WalkTerms(compiler.Modules["a.rego"].Rules[1], func(term *ast.Term) bool {
			list, ok := term.Value.(*ast.ArrayComprehension)
			if !ok {
				return false
			}
			checked = true
			if got := givesOnce(list.Body, list.Term.Value.(ast.Var), ast.NewVarSet()); got != want {
				t.Errorf("%s: %t, want %t (%s)", text, got, want, list)
			}
			return true
		})
		if !checked {
			t.Fatalf("%s has no list", text)
		}
	}
}
