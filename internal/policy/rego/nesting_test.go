// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

func TestNothingIsNestedSoThatCompilingNeverEnds(t *testing.T) {
	nested := func(open, inner, end string) func(int) string {
		return func(n int) string { return "x := " + strings.Repeat(open, n) + inner + strings.Repeat(end, n) }
	}
	cases := map[string]func(int) string{
		"array comprehensions":           nested("[y | y := ", "1", "]"),
		"array comprehensions in heads":  nested("[", "1", " | true]"),
		"set comprehensions":             nested("{y | y := ", "1", "}"),
		"object comprehensions":          nested(`{"a": y | y := `, "1", "}"),
		"object comprehensions in heads": nested(`{"a": `, "1", " | true}"),
		"comprehensions in calls":        nested("count([y | y := ", "[1]", "])"),
		"unions":                         nested("[{1} | {2}, ", "1", "]"),
		"template strings":               nested(`$"{`, "1", `}"`),
		"every": func(n int) string {
			return "x if { " + strings.Repeat("every a in [1] { a; ", n) + "true" + strings.Repeat(" }", n) + " }"
		},
		"many that are nested a little": func(n int) string {
			return strings.Repeat("x contains [[[[[[z | z := 1] | true] | true] | true] | true] | true]\n", 40*n)
		},
		"constants":                       nested(`{"a": [`, "1", "]}"),
		"parentheses":                     nested("(", "1", ")"),
		"comprehensions in a with":        nested("[y | true with input as ", "1", "]"),
		"comprehensions behind a comment": nested("[y | # ]\ny := ", "1", "]"),
		"comprehensions behind a text":    nested("[y | a := \"]\"; y := ", "1", "]"),
		"comprehensions behind raw text":  nested("[y | a := `]\"`; y := ", "1", "]"),
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{3, 12, 40} {
				p := &v1alpha1.ClusterRegoPolicy{}
				p.Name = "nested"
				p.Spec.Rego = v1alpha1.RegoSource{
					File: "nested.rego", Main: "package nested\n\nimport rego.v1\n\ndeny contains \"no\" if false\n\n" +
						text(n) + "\n"}
				p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Pod"}}}
				done := make(chan error, 1)
				begin := time.Now()
				go func() {
					_, err := rego.Compile(p)
					done <- err
				}()
				select {
				case err := <-done:
					t.Logf("%d: %s: %.100v", n, time.Since(begin).Round(time.Millisecond), err)
					var problem *rego.CompileError
					if n == 3 && errors.As(err, &problem) && strings.Contains(err.Error(), "nested too deep") {
						t.Errorf("%d levels are refused: %v", n, err)
					}
				case <-time.After(20 * time.Second):
					t.Fatalf("%d levels aren't compiled after 20 s", n)
				}
			}
		})
	}
}
