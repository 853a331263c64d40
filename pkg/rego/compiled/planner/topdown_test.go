// SPDX-License-Identifier: Apache-2.0

package planner_test

import (
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/pkg/rego/compiled/planner"
)

func TestNeedsTopdown(t *testing.T) {
	for name, c := range map[string]struct {
		rules, want string
	}{
		"plain rules don't": {
			rules: "p := 1\nq contains x if some x in input.list\nr[x] := y if some x, y in input.map"},
		"variables in a head don't": {
			rules: "p[x].a := 1 if some x in input.list\np[x].b := 2 if some x in input.list"},
		"constants in collections don't": {
			rules: `p if input.a in {"x", "y"}` + "\n" + `q := {"a": input.a, "b": 2}`},
		"a list with variables doesn't": {rules: "p := [x, 1] if x := input.a"},
		"a rule below a variable's rules": {rules: "p.a contains 1\np[x] contains y if some x, y in input.map",
			want: "data.test.p.a is a rule of its own below data.test.p[__local"},
		"a number in a name": {rules: "p[1].a := 2", want: "data.test.p[1].a has a constant in its name"},
		"a set with variables": {
			rules: "p := {x, 1} if x := input.a", want: "of which topdown takes equal parts for different ones"},
		"an object with variables as keys": {rules: "p := {x: 1, y: 2} if { x := input.a; y := input.b }",
			want: "of which topdown takes equal parts for different ones"},
		"a function replaced before input": {
			rules: "f(x) := x\ng(x) := 1\nq if f(1) == input.a\np if q with f as g with input.a as 1",
			want:  "data.test.p replaces a function before input or data in "},
		"a built-in function replaced before data": {
			rules: "g(x) := 1\nq if count([]) == data.a\np if { [1 | q with count as g with data.a as 1] }",
			want:  "data.test.p replaces a function before input or data in "},
		"a function replaced after input isn't one": {
			rules: "f(x) := x\ng(x) := 1\nq if f(1) == input.a\np if q with input.a as 1 with f as g"},
		"functions replaced alone don't": {
			rules: "f(x) := x\ng(x) := 1\nq if f(1) == count([])\np if q with f as g with count as g"},
		"a comprehension that nothing uses": {rules: "p if { [x | x := to_number(input.a)]; input.b }",
			want: "data.test.p has [__local0__ | "},
		"a comprehension within a literal that nothing uses": {
			rules: "p if { [1, {x | x := to_number(input.a)}] }"},
		"one that nothing uses in an else": {rules: "p if input.a else if { {x: 1 | x := input.b} }",
			want: "for an expression, which only topdown evaluates"},
		"a comprehension whose value is used doesn't": {
			rules: "p if { xs := [x | x := input.a]; count(xs) == 1 }"},
		"a negated lookup among rules": {rules: "p.a := 1\nq if not p[input.a] == 2",
			want: "data.test.q negates data.test.p[__local0__], which may be any of some rules"},
		"a negated lookup below a rule of rules": {
			rules: "p.a.b := 1\nq if not p.a[input.a]", want: "data.test.q negates"},
		"a negated lookup within a comprehension": {
			rules: "p.a := 1\nq if { [x | x := input.b; not p[x]] != [] }", want: "data.test.q negates"},
		"a lookup among rules that isn't negated": {rules: "p.a := 1\nq if p[input.a] == 2"},
		"a negated lookup in what one rule gives doesn't": {
			rules: "p contains 1\nr[x] := 1 if some x in input\n" +
				"q if { not p[input.a]; not r[input.a]; not data.b[input.a] }"},
		"a negated walk": {rules: `p if not walk(input.a, [["b"], 1])`,
			want: "data.test.p negates walk, which has many answers"},
		"a negated walk within every": {rules: `p if every x in input.a { not walk(x, [["b"], 1]) }`,
			want: "data.test.p negates walk"},
		"a negated walk within what is negated": {rules: `p if not count([x | x := input.a[_]; not walk(x, [["b"], 2])]) == 1`,
			want: "data.test.p negates walk"},
		"a walk that isn't negated doesn't": {rules: `p if { walk(input.a, [["b"], 1]); not input.b }`},
		"a part of data replaced beside what is looked up": {
			rules: "p if data.a[input.b] == 1\nq if p with data.c as 1",
			want:  "data.test.q replaces a part of data in data.test.p with data.c as 1, beside what isn't replaced"},
		"a rule replaced beside what is looked up": {
			rules: "r := 1\np if data.a[input.b] == r\nq if { [1 | p with data.test.r as 2] }",
			want:  "data.test.q replaces"},
		"a part of data replaced beside names doesn't": {rules: "p if data.a.b == 1\nq if p with data.c as 1"},
		"a place in a list beside what is replaced": {
			rules: "p if data.a[0] == 1\nq if p with data.c as 1", want: "q replaces"},
		"a function replaced beside what is looked up doesn't": {
			rules: "f(x) := x\ng(x) := 1\np if data.a[input.b] == f(1)\nq if p with f as g"},
		"a rule replaced where nothing is looked up doesn't": {
			rules: "r.a := 1\np if input.b == r.a\nq if p with data.test.r.a as 2"},
		"what is looked for among variables doesn't": {rules: `p if { x := "a"; input.a in [x, "b"] }`},
	} {
		t.Run(name, func(t *testing.T) {
			compiler := ast.MustCompileModules(map[string]string{"test.rego": "package test\n\n" + c.rules})
			got := planner.NeedsTopdown(compiler)
			if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// TestAPlanNamesWhatThePlannerDoesNotKnow plans rules that refer to one another below one
// variable, which OPA's compiler takes and its planner doesn't.
func TestAPlanNamesWhatThePlannerDoesNotKnow(t *testing.T) {
	compiler := ast.MustCompileModules(map[string]string{"test.rego": `package test

p[x].a := 1 if some x in input.list

p[x].b := y if {
	some x in input.list
	y := p.first.a
}
`})
	_, err := planner.Plan(t.Context(), compiler, ast.MustParseBody("data.test.p = x"), nil)
	if err == nil || !strings.Contains(err.Error(), "data.test.p") {
		t.Errorf("got %v", err)
	}
}
