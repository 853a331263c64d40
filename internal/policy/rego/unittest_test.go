// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

func TestRunTests(t *testing.T) {
	modules := map[string]string{
		"p.rego": `package p

import rego.v1

deny contains "a" if input.a

deny contains "b" if {
	input.b
	input.c
}
`,
		"p_test.rego": `package p_test

import data.p
import rego.v1

test_a if {
	print("looking at a")
	p.deny == {"a"} with input as {"a": true}
}

test_wrong if p.deny == {"z"} with input as {"a": true}

test_broken if to_number(input.x) == 1 with input as {"x": "x"}
`,
	}
	results, covered, err := rego.RunTests(t.Context(), modules, v1alpha1.RegoV1, "")
	coverage := covered.Percent
	if err != nil {
		t.Fatal(err)
	}
	var broken bool
	for i := range results {
		if results[i].Error != nil {
			broken, results[i].Error = true, nil
		}
	}
	want := []rego.TestResult{
		{Package: "p_test", Name: "test_a", File: "p_test.rego", Row: 6, Pass: true, Output: "looking at a\n"},
		{Package: "p_test", Name: "test_broken", File: "p_test.rego", Row: 13},
		{Package: "p_test", Name: "test_wrong", File: "p_test.rego", Row: 11, Fail: true},
	}
	if diff := cmp.Diff(want, results); diff != "" || !broken {
		t.Errorf("broken %t, results (-want +got):\n%s", broken, diff)
	}
	if diff := cmp.Diff([]rego.FileCoverage{{File: "p.rego", Rows: 4, Reached: 1, Uncovered: []int{7, 8, 9}}},
		covered.Files); diff != "" {
		t.Errorf("coverage (-want +got):\n%s", diff)
	}
	if coverage <= 0 || coverage >= 100 {
		t.Errorf("coverage = %v, want some but not all", coverage)
	}
}

func TestRunTestsRefusesModules(t *testing.T) {
	for name, source := range map[string]string{
		"a syntax error":     "package p\n\ndeny {{",
		"a forbidden call":   "package p\n\nimport rego.v1\n\ndeny contains http.send({}) if true",
		"an unknown builtin": "package p\n\nimport rego.v1\n\ndeny contains nothing(1) if true",
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := rego.RunTests(t.Context(), map[string]string{"p.rego": source}, v1alpha1.RegoV1, "")
			var refused *rego.CompileError
			if !errors.As(err, &refused) || refused.Problems[0].File != "p.rego" || refused.Problems[0].Row < 3 {
				t.Errorf("error %v, want a compile.Error with the place", err)
			}
		})
	}
}

// TestAConflictInATestHasHelp: OPA says which rule, and not what to do.
func TestAConflictInATestHasHelp(t *testing.T) {
	for rule, help := range map[string]string{
		"p := 1 if input.a\n\np := 2 if input.b":                         "join them by else",
		"p if f(1) == 1\n\nf(_) := 1 if input.a\n\nf(_) := 2 if input.b": "let them exclude one another",
		"p := {k: v | some v in [1, 2]; k := input.a}":                   "make the key unique",
	} {
		source := "package p_test\n\nimport rego.v1\n\n" + rule +
			"\n\ntest_p if p with input as {\"a\": true, \"b\": true}\n"
		results, _, err := rego.RunTests(t.Context(), map[string]string{"p_test.rego": source}, v1alpha1.RegoV1, "")
		if err != nil || len(results) != 1 {
			t.Fatalf("%s: %v, %v", rule, results, err)
		}
		if err := results[0].Error; err == nil || !strings.Contains(err.Error(), "\n  help: ") ||
			!strings.Contains(err.Error(), help) {
			t.Errorf("%s: %v, want help with %q", rule, err, help)
		}
	}
}
