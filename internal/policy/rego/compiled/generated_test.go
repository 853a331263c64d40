// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy/rego/compiled"
)

func inputs() []string {
	return []string{
		`{"a": 1, "name": "nn", "list": [1, {"q": "a"}, "b", 1], "map": {"k": "a", "o": {"p": [1]}, "a": true}}`,
		`{"a": "a", "name": "b", "list": [], "map": {"k": {"a": 1}, "b": false, "1": null}, "nothing": {}}`,
		`"no object"`,
	}
}

// TestGeneratedPoliciesAgree writes policies and asks both engines for each of their rules.
func TestGeneratedPoliciesAgree(t *testing.T) {
	compiledPolicies, all, asked, errored, needless, answered := 0, 0, 0, 0, 0, 0
	data := ast.MustParseTerm(`{"base": {"x": {"a": 1}, "n": [1, 2]}}`)
	rapid.Check(t, func(rt *rapid.T) {
		module, rules := writePolicy(rt)
		all++
		for _, rule := range rules {
			q, err := prepare("x = data.test."+rule, module)
			if err != nil {
				rt.Logf("%v", err)
				continue
			}
			compiledPolicies++
			for _, input := range inputs() {
				for _, strict := range []bool{false, true} {
					o := compiled.Options{Input: ast.MustParseTerm(input), Data: data, Strict: strict}
					got, want := q.compiledAnswers(t.Context(), o), q.topdownAnswers(t.Context(), o)
					asked++
					if got.err == nil && got.set.Len() > 0 {
						answered++
					}
					if got.err != nil {
						errored++
						if want.err == nil {
							needless++
						}
					}
					if d := differ(got, want); d != "" {
						rt.Fatalf("strict %v, %s of\n%s\nfor %s:\n%s", strict, rule, module, input, d)
					}
				}
			}
		}
	})
	t.Logf("%d policies, %d rules compile; asked %d times: %d answers, %d errors, of which topdown had none in %d",
		all, compiledPolicies, asked, answered, errored, needless)
}
