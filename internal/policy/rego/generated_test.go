// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
	"evenkeel.dev/evenkeel/internal/policy/rego/compiled/compiledtest"
)

// TestGeneratedPoliciesJudgeTheSameByWhatTheyRead writes policies of sets of parts of the object, whatever they do with
// them: none ends the process while it is compiled, and the compiled engine finds in what it reads of an object what
// topdown finds in all of it.
func TestGeneratedPoliciesJudgeTheSameByWhatTheyRead(t *testing.T) {
	compiledPolicies, violations := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		module, rules := compiledtest.WriteSets(rt)
		for _, rule := range rules {
			if strings.HasPrefix(rule, "r") {
				module += fmt.Sprintf("\ndeny contains sprintf(\"%%v\", [%s])\n", rule)
			}
		}
		c, err := rego.Compile(podPolicy(strings.ReplaceAll(module, "input.", "input.object.spec.")))
		if err != nil {
			rt.Skip(err)
		}
		compiledPolicies++
		for range 3 {
			r := podRequest()
			var spec map[string]any
			if err := json.Unmarshal([]byte(compiledtest.SetInput(rt)), &spec); err != nil {
				rt.Fatal(err)
			}
			r.Object["spec"] = spec
			decisions := map[rego.Engine]policy.Decision{}
			for engine, read := range map[rego.Engine]rego.Read{rego.Topdown: rego.ReadAll(),
				rego.CompiledEngine: rego.ReadBy(policy.PodKind(), c.On(rego.CompiledEngine))} {
				in, err := rego.NewInputOf(r, read)
				if err != nil {
					rt.Fatal(err)
				}
				decisions[engine] = c.On(engine).Evaluate(t.Context(), in, time.Minute)
			}
			got, want := decisions[rego.CompiledEngine], decisions[rego.Topdown]
			if diff := cmp.Diff(want.Violations, got.Violations); diff != "" || !sameError(want.Err, got.Err) {
				rt.Fatalf("%s\nfinds in %v (-topdown +compiled):\n%s\n%v\n%v", module, spec, diff, want.Err, got.Err)
			}
			violations += len(got.Violations)
		}
	})
	t.Logf("%d policies compile, %d violations", compiledPolicies, violations)
	if violations == 0 {
		t.Error("that proves nothing")
	}
}
