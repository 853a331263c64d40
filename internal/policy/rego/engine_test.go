// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// TestWhatTheCompiledEngineLeavesToTopdown holds that a policy is judged all the same, and that
// the engine says why it doesn't judge it.
func TestWhatTheCompiledEngineLeavesToTopdown(t *testing.T) {
	for name, tc := range map[string]struct{ rules, why string }{
		"plain rules are compiled": {`deny contains "x" if input.object.kind == "Pod"`, ""},
		"comparisons of what may be large are compiled": {
			`same := [a, b] if { some a in input.object; some b in input.object; a == b }` + "\n" + `deny contains "x" if same`, ""},
		"what the planner gives another meaning": {
			`deny contains "x" if { some x in ["a", "b"]; count({x, "a"}) == 1 }`, "takes equal parts for different ones"},
		"what the planner doesn't know": {
			"p[x].a := 1 if some x in [\"b\"]\np[x].c := y if { some x in [\"b\"]; y := p.b.a }\n" +
				`deny contains "x" if p.b`, "data.test.p"},
	} {
		t.Run(name, func(t *testing.T) {
			c := compile(t, podPolicy(header+tc.rules))
			evaluate(t, c, input(t, podRequest()), time.Minute)
			why := fmt.Sprint(c.On(rego.CompiledEngine).WhyTopdown())
			if tc.why == "" && why != "<nil>" || !strings.Contains(why, tc.why) {
				t.Errorf("why topdown: %s, want %q", why, tc.why)
			}
			if why := c.On(rego.Topdown).WhyTopdown(); why != nil {
				t.Errorf("nobody asked for the compiled engine: %v", why)
			}
		})
	}
}

// TestWhatIsLookedForAmongVariablesIsFound holds what OPA 1.21.0 to 1.22.0 got wrong: topdown's
// index took the variables of the list for constants, and never asked such rules.
func TestWhatIsLookedForAmongVariablesIsFound(t *testing.T) {
	c := compile(t, podPolicy(header+`
deny contains "a constant" if { kind := "Pod"; input.object.kind in [kind, "Job"] }
deny contains "a field" if input.object.kind in {input.review.kind.kind, "Job"}
deny contains "an element" if { some kind in ["Job", "Pod"]; input.object.kind in [kind, "CronJob"] }
`))
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		decision := evaluate(t, c.On(engine), input(t, podRequest()), time.Minute)
		if len(decision.Violations) != 3 {
			t.Errorf("%s finds %v, want three violations", engine, decision.Violations)
		}
	}
}

// TestANegatedLookupAmongRulesIsJudged holds what OPA's planner gets wrong: that a rule gives another value than
// the one that is looked for was taken for what is looked for, so that the violation was missed; and so whatever walk
// gives.
func TestANegatedLookupAmongRulesIsJudged(t *testing.T) {
	c := compile(t, podPolicy(header+`
allowed.Pod := "never"
allowed.Job := "always"
deny contains "not always" if not allowed[input.object.kind] == "always"
deny contains "not at all" if not allowed[input.object.apiVersion]
deny contains "never" if not allowed[input.object.kind] != "never"
`))
	walks := compile(t, podPolicy(header+`
deny contains "a" if not walk(input.object, [["spec", "nowhere"], true])
deny contains "b" if not walk(input.object.metadata, [["name"], "nobody"])
deny contains "c" if every part in [input.object.metadata] { not walk(part, [["nowhere"], 1]) }
`))
	for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
		for _, c := range []*rego.Compiled{c, walks} {
			decision := evaluate(t, c.On(engine), input(t, podRequest()), time.Minute)
			if len(decision.Violations) != 3 || decision.Engine != rego.Topdown {
				t.Errorf("%s: %s finds %v, want three violations by topdown", engine, decision.Engine,
					decision.Violations)
			}
		}
	}
}

// TestAnEmptyListIsNoName has a rule look a field up by its name, and another by a list that is written as that is.
func TestAnEmptyListIsNoName(t *testing.T) {
	const byName, byList = "deny contains \"name\" if input.object.spec[\"[]\"] == \"x\"\n",
		"deny contains \"list\" if input.object.spec[[]] == \"x\"\n"
	r := podRequest()
	r.Object["spec"].(map[string]any)["[]"] = "x"
	for _, rules := range []string{byName + byList, byList + byName} {
		c := compile(t, podPolicy(header+rules))
		for _, engine := range []rego.Engine{rego.Topdown, rego.CompiledEngine} {
			got := evaluate(t, c.On(engine), input(t, r), time.Minute)
			if len(got.Violations) != 1 || got.Violations[0].Message != "name" {
				t.Errorf("%s finds %v, want the one by its name", engine, got.Violations)
			}
		}
	}
}

// TestPoliciesWithOneRuleShareWhatIsCompiled binds one rule to many parameters: what is
// compiled is compiled once, in less than a second of CPU for three hundred of them.
func TestPoliciesWithOneRuleShareWhatIsCompiled(t *testing.T) {
	const bindings = 300
	definition := podPolicy(header + `deny contains sprintf("%s isn't %s", [input.object.kind, input.parameters.kind]) if {
	input.object.kind != input.parameters.kind
}`)
	base := compile(t, definition)
	before := processorTime(t)
	var bound []*rego.Compiled
	for i := range bindings {
		binding := definition.DeepCopy()
		binding.Spec.Parameters = &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"kind": "Kind%d"}`, i)}
		c, err := base.Redefine(binding)
		if err != nil {
			t.Fatal(err)
		}
		bound = append(bound, c.On(rego.CompiledEngine))
	}
	if took := processorTime(t) - before; took > time.Second {
		t.Errorf("%d policies took %s of the processor", bindings, took)
	}
	for i, c := range bound {
		got := evaluate(t, c, input(t, podRequest()), time.Minute)
		want := []policy.Violation{{Message: fmt.Sprintf("Pod isn't Kind%d", i)}}
		if diff := cmp.Diff(want, got.Violations); diff != "" || c.WhyTopdown() != nil {
			t.Fatalf("policy %d, why topdown: %v (-want +got):\n%s", i, c.WhyTopdown(), diff)
		}
	}
}

// TestTopdownIsAskedWhereTheCompiledEngineFails holds that its messages are those that people see.
func TestTopdownIsAskedWhereTheCompiledEngineFails(t *testing.T) {
	c := compile(t, podPolicy(header+`deny contains "known" if true

deny contains "x" if to_number(input.object.kind) > 1`)).On(rego.CompiledEngine)
	got := c.Evaluate(t.Context(), input(t, podRequest()), time.Minute)
	wantError(t, "one definition fails, the other is found", got, "policy test", "rule deny", "to_number")
	if diff := cmp.Diff([]policy.Violation{{Message: "known"}}, got.Violations); diff != "" {
		t.Errorf("violations (-want +got):\n%s", diff)
	}
}

// TestADecisionNamesItsEngine holds that each says what evaluated the rules, and why that is topdown
// where the compiled engine was asked for.
func TestADecisionNamesItsEngine(t *testing.T) {
	const plain = `deny contains "x" if input.object.kind == "Pod"`
	for name, tc := range map[string]struct {
		rules  string
		engine rego.Engine
		want   rego.Engine
		why    string
	}{
		"topdown, as asked for":  {plain, rego.Topdown, rego.Topdown, ""},
		"compiled, as asked for": {plain, rego.CompiledEngine, rego.CompiledEngine, ""},
		"the planner gives it another meaning": {
			`deny contains "x" if { some x in ["a", "b"]; count({x, "a"}) == 1 }`, rego.CompiledEngine,
			rego.Topdown, policy.ReasonNotCompilable},
		"an evaluation fails": {`deny contains "x" if to_number(input.object.kind) > 1`, rego.CompiledEngine,
			rego.Topdown, policy.ReasonEvaluationFailed},
		"an evaluation takes more than a moment": {
			`deny contains "x" if count([1 | some a in numbers.range(1, 600); some b in numbers.range(1, 600); a == b]) == 600`,
			rego.CompiledEngine, rego.Topdown, policy.ReasonEngineStopped},
	} {
		t.Run(name, func(t *testing.T) {
			c := compile(t, podPolicy(header+tc.rules)).On(tc.engine)
			got := c.Evaluate(t.Context(), input(t, podRequest()), time.Minute)
			if got.Engine != tc.want || got.WhyTopdown != tc.why {
				t.Errorf("judged by %s for %q, want %s for %q", got.Engine, got.WhyTopdown, tc.want, tc.why)
			}
		})
	}
}

// A number beyond those of 64 bits hashes by how it is written, and equal collections must have equal hashes.
func TestNumbersBeyond64BitsAreLeftToTopdown(t *testing.T) {
	c, err := rego.Compile(podPolicy(header + "deny contains \"equal\" if [1e400] == [10e399]\n"))
	if err != nil {
		t.Fatal(err)
	}
	on := c.On(rego.CompiledEngine)
	d := on.Evaluate(t.Context(), input(t, podRequest()), time.Minute)
	if on.WhyTopdown() == nil || d.Err != nil || len(d.Violations) != 1 {
		t.Errorf("compiled: %t; violations %v, error %v", on.WhyTopdown() == nil, d.Violations, d.Err)
	}
}
