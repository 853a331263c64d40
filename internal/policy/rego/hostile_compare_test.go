// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// byLargeInput begins the names of the hostile policies that are asked about an object of megabytes.
const byLargeInput = "a large object by "

// hostileByLargeInput are policies that compare what a large object holds twice, or hand it to a built-in function,
// hundreds of times without a loop.
func hostileByLargeInput() map[string]string {
	out := map[string]string{}
	for name, comparison := range map[string]string{
		"!=":                    `not a != b`,
		"patterns":              `[a, %d] = [b, %d]`,
		"a function's argument": `f(b) == 1`,
		"in a set":              `b in s`,
		"sort":                  `count(sort(a)) > 1`,
		"with":                  `q with input.review.object.spec.c as %d`,
	} {
		var rules strings.Builder
		rules.WriteString("deny contains \"known\" if true\na := input.review.object.spec.a\n" +
			"b := input.review.object.spec.b\ns := {v | some v in [1, a]}\n" +
			"f(x) := 1 if { some y in [1, x]; y != 1 }\nknown if f(a) == 1\nq if input.review.object.kind\n")
		for i := range 400 {
			again := strings.Repeat("; "+strings.ReplaceAll(comparison, "%d", fmt.Sprint(i)), 4)
			fmt.Fprintf(&rules, "deny contains \"x%d\" if { known%s }\n", i, again)
		}
		out[byLargeInput+name] = rules.String()
	}
	out["a large value put into the input"] = puttingLarge()
	out["large values in place of rules"] = mocking("big")
	out[byLargeInput+"mocks"] = mocking("input.review.object.spec")
	out["an input doubled by with, and copied"] = nesting(`with input as {"a": input, "b": input}`) +
		"q0 if input.z with input.z as 1\n"
	out["parts of the input doubled by with"] = nesting(`with input.a%d as input`) + "q0 if input.review\n"
	out["copies of the input in one another"] = nesting(`with input.a%d as 1`) + "q0 if input.review\n"
	out["copies of a value in one another"] = "r := numbers.range(1, 3000)\n" +
		nesting(`with input.a%d as r`) + "q0 if input.review\n"
	return out
}

// nesting has forty rules each ask the one before with another input.
func nesting(with string) string {
	var rules strings.Builder
	rules.WriteString("deny contains \"x\" if { q40; to_number(\"x\") > 0 }\n") // topdown is asked again
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&rules, "q%d if q%d %s\n", i, i-1, strings.ReplaceAll(with, "%d", fmt.Sprint(i)))
	}
	return rules.String()
}

// mocking has a value stand for many rules at once, while another is replaced.
func mocking(value string) string {
	var rules, as strings.Builder
	rules.WriteString("r := numbers.range(1, 5000)\nbig := [r | some _ in numbers.range(1, 2000)]\nz := 0\n" +
		"q if z == 0\nouter if q with z as 0\n")
	for i := range 16 {
		fmt.Fprintf(&rules, "s%d := 0\n", i)
		fmt.Fprintf(&as, " with s%d as %s", i, value)
	}
	rules.WriteString("deny contains \"d\" if outer" + as.String() + "\n")
	return rules.String()
}

// TestAnObjectOfManyKeysIsJudgedByTopdown has rules replace a part of the input for an object such as anybody may make.
func TestAnObjectOfManyKeysIsJudgedByTopdown(t *testing.T) {
	c, err := rego.Compile(podPolicy(header +
		"deny contains \"found\" if { not q with input.review.kind as {} }\nq if input.review.kind.kind\n"))
	if err != nil {
		t.Fatal(err)
	}
	for keys, want := range map[int]string{600: "", 6000: "", 60_000: "too large"} {
		r := podRequest()
		labels := map[string]any{}
		for i := range keys {
			labels[fmt.Sprint("key", i)] = "x"
		}
		r.Object["metadata"].(map[string]any)["annotations"] = labels
		got := c.On(rego.Topdown).Evaluate(t.Context(), input(t, r), time.Minute)
		switch {
		case want == "" && (got.Err != nil || len(got.Violations) != 1):
			t.Errorf("%d keys: %d violations, %v", keys, len(got.Violations), got.Err)
		case want != "" && (!errors.Is(got.Err, rego.ErrMemoryLimit) || !strings.Contains(got.Err.Error(), want)):
			t.Errorf("%d keys: %v, want %q", keys, got.Err, want)
		}
		if by := c.On(rego.CompiledEngine).Evaluate(t.Context(), input(t, r), time.Minute); len(by.Violations) != 1 {
			t.Errorf("%d keys: %d violations by the compiled engine, %v", keys, len(by.Violations), by.Err)
		}
	}
}

// puttingLarge puts a value of 10 million parts into the input, of which parts are replaced hundreds of times.
func puttingLarge() string {
	var rules strings.Builder
	rules.WriteString("r := numbers.range(1, 5000)\nbig := [r | some _ in numbers.range(1, 2000)]\n" +
		"q if input.b\n")
	for i := range 40 {
		fmt.Fprintf(&rules, "q%[1]d if q with input.b as %[1]d\n"+
			"deny contains \"x%[1]d\" if q%[1]d with input.a as big\n", i)
	}
	return rules.String()
}

// hostileRequest is for an object that is as large as the API server takes it, where the policy's name says so.
func hostileRequest(name string) *policy.Request {
	r := podRequest()
	if !strings.HasPrefix(name, byLargeInput) {
		return r
	}
	spec := r.Object["spec"].(map[string]any)
	for _, field := range []string{"a", "b"} {
		lists := make([]any, 130)
		for i := range lists {
			list := make([]any, 1000)
			for j := range list {
				list[j] = map[string]any{"a": "b"}
			}
			lists[i] = list
		}
		spec[field] = lists
	}
	return r
}
