// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
)

// TestAComparisonIsntBegunOnceCancelled has three hundred of each that may take long in one body, which are no step of
// a loop and no call.
func TestAComparisonIsntBegunOnceCancelled(t *testing.T) {
	twins := ast.ObjectTerm(ast.Item(ast.StringTerm("a"), hundred()), ast.Item(ast.StringTerm("b"), hundred()),
		ast.Item(ast.StringTerm("text"), ast.StringTerm(strings.Repeat("a", 5000))),
		ast.Item(ast.StringTerm("again"), ast.StringTerm(strings.Repeat("a", 5000))))
	const sets = "s := {v | some v in [input.a, 1]}\no := {v: 1 | some v in [input.a]}\n" +
		"f(x) := 1 if { some y in x.list; y == 0 }\nlong := numbers.range(1, 300)\n"
	for name, expression := range map[string]string{
		"==":                   `input.a == input.b`,
		"== of texts":          `input.text == input.again`,
		"a pattern":            `[input.a, 1] = [input.b, 1]`,
		"!=":                   `not input.a != input.b`,
		"!= with its value":    `x%d := input.a != input.b`,
		"<":                    `not input.a < input.b`,
		">=":                   `input.a >= input.b`,
		"< with its value":     `x%d := input.text < input.again`,
		"in a list":            `input.a in [1, input.b]`,
		"in a set":             `input.b in s`,
		"in a long list":       `299 in long`,
		"a key of a set":       `s[input.b]`,
		"a key of an object":   `o[input.b]`,
		"object.get":           `object.get(o, input.b, 0) == 1`,
		"object.get of a path": `object.get(o, [input.b], 0) == 1`,
		"a set":                `x%d := {v | v := input.a}`,
		"an object":            `x%d := {v: 1 | v := input.a}`,
		"a list of long texts": `x%d := [input.text, input.again]`,
		"a value that is long": `x%d := {"text": input.text, "other": input.again}`,
		"a text searched":      `contains(input.text, "aaaa")`,
		"a prefix":             `startswith(input.text, input.again)`,
		"arguments known":      `f(input.a) + f(input.b) == 2`,
		"a set that is sorted": `x%d := [1 | some _ in s]`,
		"keys that are sorted": `x%d := [1 | some _ in o]`,
	} {
		t.Run(name, func(t *testing.T) {
			var body strings.Builder
			for i := range 300 {
				body.WriteString("\t" + strings.ReplaceAll(expression, "%d", fmt.Sprint(i)) + "\n")
			}
			stop := &afterSome{n: 200}
			got := ask(t, "data.test.p = x", "package test\n\n"+sets+"p if {\n"+body.String()+"}\n").compiledAnswers(
				t.Context(), compiled.Options{Input: twins, Cancel: stop})
			if !topdown.IsCancel(unplaced(got.err)) || stop.asked != stop.n {
				t.Errorf("asked %d times, want %d: %v", stop.asked, stop.n, got.err)
			}
		})
	}
}
