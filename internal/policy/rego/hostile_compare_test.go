// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/internal/policy"
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
	return out
}

// puttingLarge puts a value of 10 million parts into the input, of which parts are replaced hundreds of times.
func puttingLarge() string {
	var rules strings.Builder
	rules.WriteString("r := numbers.range(1, 5000)\nbig := [r | some _ in numbers.range(1, 2000)]\n" +
		"q if input.b\n")
	for i := range 400 {
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
