// SPDX-License-Identifier: Apache-2.0

package compiled_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/pkg/rego/compiled"
	"evenkeel.dev/evenkeel/pkg/rego/compiled/compiledtest"
)

// TestGeneratedPoliciesAgree writes policies and asks both engines for each of their rules.
func TestGeneratedPoliciesAgree(t *testing.T) {
	compiledPolicies, all, asked, errored, needless, answered := 0, 0, 0, 0, 0, 0
	data := ast.MustParseTerm(compiledtest.Data())
	rapid.Check(t, func(rt *rapid.T) {
		module, rules := compiledtest.WritePolicy(rt)
		all++
		for _, rule := range rules {
			q, err := prepare("x = data.test."+rule, module)
			if err != nil {
				rt.Logf("%v", err)
				continue
			}
			compiledPolicies++
			for _, input := range compiledtest.Inputs() {
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
