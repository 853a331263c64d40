// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// beside is a rule that finds the numbers over ten among texts.
func beside(texts ...string) string {
	return `deny contains sprintf("%v", [n]) if { some text in ["` + strings.Join(texts, `", "`) +
		`"]; n := to_number(text); n > 10 }`
}

// TestABuiltinThatFailsIsUndefined holds what both engines make of it by strictBuiltinErrors: the same is
// found, and only the error goes unsaid. What the engine or the rules themselves get wrong stays an error.
func TestABuiltinThatFailsIsUndefined(t *testing.T) {
	long := strings.Repeat("x", 500) // more than to_number reads
	for name, tc := range map[string]struct {
		reason, rules string
		found         []string
		// strict and lenient are parts of the error; empty for none.
		strict, lenient string
	}{
		"a condition": {"it doesn't hold", `deny contains "x" if to_number(input.object.kind) > 1`, nil,
			"to_number", ""},
		"a condition that is negated": {"it holds, as in Rego at large",
			`deny contains "x" if not to_number(input.object.kind)`, []string{"x"}, "to_number", ""},
		"a function": {"it is undefined where it is called",
			"number(text) := to_number(text)\n" + `deny contains "x" if not number(input.object.kind)`, []string{"x"},
			"to_number", ""},
		"an element": {"the others are there",
			`deny contains sprintf("%d", [n]) if { some text in ["1", "two", "3"]; n := to_number(text) }`,
			[]string{"1", "3"}, "to_number", ""},
		"an operand of another type": {"that is a failure too",
			`deny contains "x" if not startswith(input.object.spec, "a")`, []string{"x"}, "startswith", ""},
		"ends that aren't whole": {"OPA refuses them, not a limit",
			`deny contains "x" if not numbers.range(count(input.object.kind) / 2, 3)`, []string{"x"}, "numbers.range",
			""},
		"a range beyond the limit": {"nobody passes for being too large",
			`deny contains "x" if count(numbers.range(1, to_number("300000"))) == 0`, nil,
			"at most 250000 are allowed", "test.rego:5: eval_builtin_error: numbers.range: the number of elements"},
		"a text beyond the limit": {"it is undefined where it is made",
			`deny contains "x" if not concat("", [sprintf("%999999d", [n]) | some n in numbers.range(1, 20)])`,
			[]string{"x"}, "at most", "concat: the size of its result"},
		"a number beyond the limit": {"likewise", `deny contains "x" if to_number("1e401") > 2`, nil, "digits",
			"digits"},
		"a value beyond the limit, before others": {"it silences none of them", beside(long, "99"), []string{"99"},
			"digits", "digits"},
		"a value beyond the limit, after others": {"likewise", beside("99", long), []string{"99"}, "digits", "digits"},
		"a value beyond the limit, between others": {"likewise", beside("98", long, "99"), []string{"98", "99"},
			"digits", "digits"},
		"a value beyond the limit in a function": {"it is undefined where it is called",
			"number(text) := to_number(text)\n" + `deny contains "x" if not number("` + long + `")`, []string{"x"},
			"digits", "digits"},
		"a range beyond the limit, before others": {"likewise, of a range",
			`deny contains sprintf("%d", [n]) if { some n in [300000, 1]; count(numbers.range(1, n)) > 0 }`,
			[]string{"1"}, "numbers.range", "numbers.range"},
		"a pattern beyond the limit, before others": {"likewise, of what only takes long",
			`deny contains sprintf("%d", [n]) if { some n in [7000, 1]; ` +
				`regex.match(concat("", [c | some i in numbers.range(1, n); c := "aaaaaaaaaa"]), "aaaaaaaaaa") }`,
			[]string{"1"}, "regex.match", "regex.match"},
		"values that conflict": {"no built-in is at fault",
			"p := 1 if input.object.kind == \"Pod\"\np := 2 if input.object.spec\n" + `deny contains "x" if p`,
			[]string{"x"}, "conflict", "conflict"},
	} {
		t.Run(name, func(t *testing.T) {
			p := podPolicy(header + tc.rules)
			lenient := p.DeepCopy()
			lenient.Spec.Rego.StrictBuiltinErrors = ptr.To(false)
			if rego.Revision(p) == rego.Revision(lenient) {
				t.Error("the revision is the same, though verdicts may differ")
			}
			strict := p.DeepCopy()
			strict.Spec.Rego.StrictBuiltinErrors = ptr.To(true)
			if rego.Revision(p) != rego.Revision(strict) {
				t.Error("the default has another revision when it is spelled out")
			}
			compiled := compile(t, p)
			redefined, err := compiled.Redefine(lenient) // which shares all that is compiled
			if err != nil {
				t.Fatal(err)
			}
			for i, says := range []string{tc.strict, tc.lenient} {
				c := []*rego.Compiled{compiled, redefined}[i]
				got := evaluate(t, c, input(t, podRequest()), time.Minute)
				if says != "" {
					wantError(t, tc.reason, got, says)
				} else if got.Err != nil {
					t.Errorf("%s: %v", tc.reason, got.Err)
				}
				var found []string
				for _, v := range got.Violations {
					found = append(found, v.Message)
				}
				if diff := cmp.Diff(tc.found, found); diff != "" {
					t.Errorf("%s, error %q (-want +got):\n%s", tc.reason, says, diff)
				}
				by := c.On(rego.CompiledEngine).Evaluate(t.Context(), input(t, podRequest()), time.Minute)
				if (by.Engine == rego.CompiledEngine) != (says == "") {
					t.Errorf("judged by %s for %q", by.Engine, by.WhyTopdown)
				}
				if diff := cmp.Diff(got.Violations, by.Violations); diff != "" || (by.Err != nil) != (says != "") {
					t.Errorf("the compiled engine: error %v (-topdown +compiled):\n%s", by.Err, diff)
				}
			}
		})
	}
}

// TestAFixMayCallWhatFails has remediation leave out what a failing built-in leads to.
func TestAFixMayCallWhatFails(t *testing.T) {
	p := podPolicy(header + `deny contains "x"

remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/metadata/labels", "value": {"n": text}}]} if {
	some text in ["one", "2"]
	to_number(text) > 1
}`)
	wantFixError(t, "strict", judge(t, p, podRequest()), "to_number")
	p.Spec.Rego.StrictBuiltinErrors = ptr.To(false)
	if got := judge(t, p, podRequest()); got.FixErr != nil || len(got.Actions) != 1 {
		t.Errorf("actions %v, error %v, want one action", fmt.Sprint(got.Actions), got.FixErr)
	}
}
