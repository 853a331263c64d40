// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy/rego/compiled/compiledtest"
	"evenkeel.dev/evenkeel/internal/policy/rego/facts"
)

// TestGeneratedSetsHaveTheSameInWhatIsReadOfTheirElements writes policies of sets, and asks topdown for each of their
// rules: of the whole input, and of what facts say that the rule reads of it.
func TestGeneratedSetsHaveTheSameInWhatIsReadOfTheirElements(t *testing.T) {
	compiles, answered, spared := 0, 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		module, rules := compiledtest.WriteSets(rt)
		compiler, err := ast.CompileModules(map[string]string{"test.rego": module})
		if err != nil {
			rt.Skip(err)
		}
		compiles++
		for _, rule := range rules {
			ref := ast.MustParseRef("data.test." + rule)
			fields := facts.ReadsOf(compiler, ref).Below([]string{})
			for range 3 {
				whole := ast.MustParseTerm(compiledtest.SetInput(rt))
				part := partOf(rt, whole, fields)
				want := answer(t.Context(), compiler, ref, whole, false)
				if got := answer(t.Context(), compiler, ref, part, false); got != want {
					rt.Fatalf("%s of\n%s\nfinds in %s:\n%s\nand in %s:\n%s", rule, module, whole, want, part, got)
				}
				if want != nothing && want != "[set()]" {
					answered++
				}
				if !part.Equal(whole) {
					spared++
				}
			}
		}
	})
	t.Logf("%d policies, %d answers; %d times a part of the input wasn't read", compiles, answered, spared)
	if spared == 0 || answered == 0 {
		t.Error("that proves nothing")
	}
}
