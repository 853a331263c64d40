// SPDX-License-Identifier: Apache-2.0

package compile_test

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

func TestARuleCannotAskForItselfByWayOfWith(t *testing.T) {
	for name, tc := range map[string]struct {
		rules   string
		refused string
	}{
		"a rule that calls the function which it replaces": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\ng := f(2)", "data.test.f"},
		"the rule that calls it first": {
			"g := f(2)\nh if f(1)\ndeny contains 1 if h with data.test.f as data.test.g", "data.test.f"},
		"what it calls first, by way of another rule": {
			"k := f(2)\ng := k\nh if f(1)\ndeny contains 1 if h with data.test.f as data.test.g", "data.test.f"},
		"by way of another rule": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\ng := k\nk := f(2)", "data.test.f"},
		"by way of a function": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\ng := k(2)\nk(x) := f(x)", "data.test.f"},
		"in an else": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\n" +
				"g := 1 if input.a else := f(2)", "data.test.f"},
		"two functions, each in the other's place": {
			"deny contains 1 if h with data.test.f as data.test.g with data.test.k as data.test.l\n" +
				"h if f(1)\ng := k(2)\nl := f(3)\nk(x) := x", "data.test."},
		"two functions, replaced one after the other": {
			"deny contains 1 if i with data.test.f as data.test.g\ni if h with data.test.k as data.test.l\n" +
				"h if f(1)\ng := k(2)\nl := f(3)\nk(x) := x", "data.test."},
		"a function that is built in": {
			"deny contains 1 if h with count as data.test.g\nh if count(input) > 0\ng := count([1])", "count"},
		"a whole package": {
			"deny contains 1 if h with data.test.f as data.test.p\nh if f(1)\np.q := f(2)", "data.test.f"},
		"a function that calls the one whose place it takes": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\ng(x) := f(x) + 1", ""},
		"a rule that doesn't call it": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\ng := 2", "data.test.f"},
		"a rule that is told before": {
			"deny contains 1 if { v := g; h with data.test.f as v }\nh if f(1)\ng := f(2)", ""},
		"two rules that take a function's place, and call another": {
			"deny contains 1 if h with data.test.f as data.test.g\n" +
				"deny contains 2 if h with data.test.f as data.test.l\nh if f(1)\ng := k(2)\nl := k(3)\nk(x) := x",
			"data.test.f"},
		"a rule that replaces the function itself": {
			"deny contains 1 if h with data.test.f as data.test.g\nh if f(1)\n" +
				"g := 2 if i with data.test.f as data.test.l\ni if input.a\nl := 3", "data.test.f"},
		"the input": {"deny contains 1 if h with input as data.test.g\nh if f(1)\ng := f(2)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			sources := []v1alpha1.RegoLibrary{{Name: "a.rego", Source: "package test\nf(x) := x\n" + tc.rules}}
			modules, err := compile.Parse(sources, v1alpha1.RegoV1)
			if err != nil {
				t.Fatal(err)
			}
			_, err = compile.Modules(v1alpha1.RegoV1, sources, modules)
			switch {
			case tc.refused == "" && err != nil:
				t.Errorf("it is refused: %v", err)
			case tc.refused != "" && (err == nil || !strings.Contains(err.Error(), "is replaced by the value of") ||
				!strings.Contains(err.Error(), tc.refused)):
				t.Errorf("it says %v, want that %s is replaced by what calls it", err, tc.refused)
			}
		})
	}
}
