// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/test/compiledtest"
)

// TestGeneratedPoliciesJudgeTheSame writes policies of sets of parts of the object, whatever they do with
// them: none ends the process while it is compiled, and the compiled engine finds in what it reads of an object what
// topdown finds in all of it.
func TestGeneratedPoliciesJudgeTheSame(t *testing.T) {
	compiledPolicies, violations := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		module, rules := compiledtest.WriteSets(rt)
		if rapid.Bool().Draw(rt, "direct") { // what is found is then what the rule itself makes
			module = regexp.MustCompile(`(?m)^r\d contains `).ReplaceAllString(module, "deny contains ")
		}
		for _, rule := range rules {
			if strings.HasPrefix(rule, "r") && strings.Contains(module, "\n"+rule) {
				module += "\ndeny contains sprintf(\"%v\", [x]) if {\n\tx := " + rule + "\n\t[x] != [set()]\n}\n"
			}
		}
		c, err := rego.Compile(podPolicy(strings.ReplaceAll(module, "input.", "input.object.spec.")))
		if err != nil {
			rt.Skip(err)
		}
		compiledPolicies++
		judges := []*rego.Compiled{c.On(rego.Topdown), c.On(rego.CompiledEngine)}
		text := ""
		for range 8 {
			if changed := alikeTo(rt, text); changed != text {
				text = changed
			} else {
				text = compiledtest.SetInput(rt)
			}
			r := podRequest()
			var spec map[string]any
			if err := json.Unmarshal([]byte(text), &spec); err != nil {
				rt.Fatal(err)
			}
			r.Object["spec"] = spec
			var want policy.Decision
			for i, judge := range judges {
				got := judge.Evaluate(t.Context(), input(t, r), time.Minute)
				if i == 0 {
					want = got
				}
				if diff := cmp.Diff(want.Violations, got.Violations); diff != "" || !sameError(want.Err, got.Err) {
					rt.Fatalf("%s\nfinds in %v (-topdown +compiled):\n%s\n%v\n%v", module, spec, diff, want.Err,
						got.Err)
				}
			}
			violations += len(want.Violations)
		}
	})
	t.Logf("%d policies compile, %d violations", compiledPolicies, violations)
	if violations == 0 {
		t.Error("that proves nothing")
	}
}

// alikeTo is an input that differs from another in a field.
func alikeTo(rt *rapid.T, text string) string {
	field := rapid.SampledFrom([]string{`"a": `, `"b": `, `"c": `}).Draw(rt, "field")
	from := rapid.SampledFrom([]string{"1", "2", "false", `"a"`}).Draw(rt, "from")
	return strings.Replace(text, field+from, field+rapid.SampledFrom([]string{"1", "2", "false"}).Draw(rt, "to"), 1)
}
