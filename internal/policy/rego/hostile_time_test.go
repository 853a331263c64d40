// SPDX-License-Identifier: Apache-2.0

package rego_test

import (
	"fmt"
	"strings"
)

// long are two texts of a megabyte, equal and made apart.
const long = `kb := concat("", [c | some _ in numbers.range(1, 1000); c := "abcdefgh"])
mb := concat("", [kb | some _ in numbers.range(1, 130)])
mb2 := concat("", [concat("", [kb]) | some _ in numbers.range(1, 130)])
`

// hostileToTime are policies that have one call, comparison or look-up take for ever,
// which nothing stops in between.
func hostileToTime() map[string]string {
	out := map[string]string{}
	for name, ask := range map[string]string{
		"!=":                       `x5 != y5`,
		"<":                        `x5 < y5`,
		"<=":                       `not x5 <= y5`,
		">":                        `x5 > y5`,
		">=":                       `not x5 >= y5`,
		"sort":                     `count(sort([x5, y5])) == 0`,
		"max":                      `max([x5, y5]) == 0`,
		"min":                      `min({x5, y5}) == 0`,
		"in a list":                `not x5 in [1, y5]`,
		"in a set":                 `not x5 in {1, y5}`,
		"in an object":             `not x5 in {"a": y5}`,
		"a set":                    `count({x5, y5}) == 0`,
		"a set comprehension":      `count({v | some v in [x5, y5]}) == 0`,
		"keys":                     `{x5: 1}[y5] == 0`,
		"an object comprehension":  `count({v: 1 | some v in [x5, y5]}) == 0`,
		"values of one key":        `count({1: v | some v in [x5, y5]}) == 0`,
		"object.get":               `object.get({x5: 1}, y5, 2) == 0`,
		"object.subset":            `object.subset(x5, y5) == false`,
		"object.union":             `object.union({"a": x5}, {"a": y5}) == {}`,
		"object.remove":            `object.remove({"a": x5}, [y5]) == {}`,
		"a union of sets":          `count({x5} | {y5}) == 0`,
		"an intersection":          `count({x5} & {y5}) == 0`,
		"a difference":             `count({x5} - {y5}) == 1`,
		"union":                    `count(union({{x5}, {y5}})) == 0`,
		"graph.reachable":          `count(graph.reachable({x5: [y5]}, [x5])) == 0`,
		"array.flatten":            `count(array.flatten([x5, y5])) == 0`,
		"another input":            `a with input as [x5, y5]`,
		"equal by a rule's patter": `{"a": x5, "b": 1} = {"a": y5, "b": 1}`,
		"walk":                     `walk([x5, y5], [[1], x5])`,
		"every":                    `every v in [x5, y5] { v != y5 }`,
	} {
		out["gathered parts by "+name] = gathered + "a if input[0] != input[1]\n" + `deny contains "x" if ` + ask
	}
	for name, rules := range map[string]string{
		"a set that a rule gives":     "p contains x5\np contains y5\n" + `deny contains "x" if count(p) == 0`,
		"an object that a rule gives": "p[x5] := 1\np[y5] := 1\n" + `deny contains "x" if count(p) == 0`,
		"sets of keys":                "p[1] contains x5\np[1] contains y5\n" + `deny contains "x" if count(p) == 0`,
		"two values of a rule":        "p := x5 if true\np := y5 if true\n" + `deny contains "x" if count(p) == 0`,
		"two values of a function": "f(1) := x5 if true\nf(1) := y5 if true\n" +
			`deny contains "x" if count(f(1)) == 0`,
		"arguments of a function": "f(x) := count(x) if true\n" + `deny contains "x" if f(x5) + f(y5) == 0`,
		"an entry by a pattern": "p[[a, b]] contains x5 if { some a in [1, 2]; b := 1 }\n" +
			`deny contains "x" if { v := p[[a, 1]]; w := p[[b, 1]]; a != b; v != w }`,
		"details":                  `deny contains {"msg": "x", "details": v} if some v in [x5, y5]`,
		"elements of the rule":     `deny contains v if some v in [x5, y5]`,
		"keys of details":          `deny contains {"msg": "x", v: 1} if some v in [x5, y5]`,
		"a rule that is one value": `warn := {v | some v in [x5, y5]}`,
		"a rule with a default": "default p := 1\np := x5\ndefault q := 1\nq := y5\n" +
			`deny contains "x" if p != q`,
		"a rule with else": "p := 1 if false\nelse := x5\nq := 1 if false\nelse := y5\n" +
			`deny contains "x" if p != q`,
		"a package":            "p := x5\n" + `deny contains "x" if data.test.p != y5`,
		"what fixes say":       `remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/x", "value": v}]} if some v in [x5, y5]`,
		"another rule by with": "p := 1\nq if p != y5\n" + `deny contains "x" if q with data.test.p as x5`,
		"a mocked function": "f(_) := 1\ng(_) := x5\nq if f(1) != y5\n" +
			`deny contains "x" if q with f as g`,
		"a mocked built-in": "g(_, _) := x5\nq if max([1, 2]) != y5\nh(_) := x5\n" +
			`deny contains "x" if q with max as h`,
		"groups of a comprehension": "p contains [k, v] if { some k in [1, 2]; some v in [x5, y5] }\n" +
			`deny contains "x" if { some k in [1, 2]; vs := {v | some pair in p; pair[0] == k; v := pair[1]}; count(vs) == 0 }`,
		"gathered by a partial object": "p[i] := x4 if some i in numbers.range(1, 10000)\nq[i] := y4 if some i in " +
			"numbers.range(1, 10000)\n" + `deny contains "x" if p != q`,
		"gathered by sets of keys": "p[k] contains [i, x4] if { some k in [1, 2]; some i in numbers.range(1, " +
			"10000) }\nq[k] contains [i, y4] if { some k in [1, 2]; some i in numbers.range(1, 10000) }\n" +
			`deny contains "x" if p[1] != q[2]`,
	} {
		out["gathered parts as "+name] = gathered + rules
	}
	out["gathered parts in one body"] = "deny contains \"x\" if {\n\ta0 := [1]\n\tb0 := [1]\n" + loops("a") +
		loops("b") + "\ta5 != b5\n}"
	out["gathered parts in a function"] = "f(a0) := a5 if {\n" + loops("a") +
		"}\ndeny contains \"x\" if { a := [1, 1]; f(a[0]) != f([a[1]][0]) }"
	out["shared parts in the body of a not"] = "import future.keywords.not\nx if not {\n" + chain("a") + chain("b") +
		"\ta40 != b40\n}\n" + `deny contains "x" if x`
	out["gathered parts in a nest"] = `deny contains "x" if { a := ` + nestedLoops("1") + "; b := " + nestedLoops("1") +
		"; a != b }"
	out["gathered parts in a not"] = `deny contains "x" if { not ` + nestedLoops("1") + " != " + nestedLoops("1") +
		"; false }"
	out["gathered parts in a call"] = `deny contains "x" if count(sort([` + nestedLoops("1") + ", " + nestedLoops("1") +
		"])) == 0"
	out["gathered parts in every"] = `deny contains "x" if every v in [` + nestedLoops("1") + ", " + nestedLoops("1") +
		"] { v != " + nestedLoops("1") + " }"
	out["gathered parts, doubled"] =
		"x0 := [1 | some _ in numbers.range(1, 2000)]\ny0 := [1 | some _ in numbers.range(1, 2000)]\n" +
			doubledTen("x") + doubledTen("y") +
			"a := [x10 | some _ in numbers.range(1, 100000)]\nb := [y10 | some _ in numbers.range(1, 100000)]\n" +
			`deny contains "x" if a != b`
	out["a long constant, doubled"] = "x0 := [" + strings.Repeat("1,", 100_000) + "1]\ny0 := [" +
		strings.Repeat("1,", 100_000) + "1]\n" + doubledTen("x") + doubledTen("y") +
		`deny contains "x" if { some i in numbers.range(1, 1000); [i, x10] != [i, y10] }`
	out["long texts gathered"] = long +
		`deny contains "x" if [mb | some _ in numbers.range(1, 200000)] != [mb2 | some _ in numbers.range(1, 200000)]`
	out["objects gathered"] = `a := [json.unmarshal(t) | some t in [s]]` +
		"\nb := [json.unmarshal(t) | some t in [s]]\n" + `s := json.marshal(numbers.range(1, 50000))` + "\n" +
		"p := [a | some _ in numbers.range(1, 100000)]\nq := [b | some _ in numbers.range(1, 100000)]\n" +
		`deny contains "x" if p != q`
	out["many comparisons in many rules"] = "s := json.marshal(numbers.range(1, 100000))\nx := [json.unmarshal(s) | " +
		"some _ in [1, 2]]\ny := [json.unmarshal(s) | some _ in [1, 2]]\n" +
		manyRules(`{ some i in list; [x, i] != [y, i] }`)
	out["many costly calls in many rules"] = long +
		manyRules(`{ some i in list; regex.match("(a|b|c|d|e|f|g|h)*y$", mb); i == 0 }`)
	for name, call := range costlyCalls() {
		out["one call of "+name] = call
	}
	return out
}

// loops gathers as gather does, from a0, in one body.
func loops(name string) string {
	var b strings.Builder
	for i := 1; i <= 5; i++ {
		fmt.Fprintf(&b, "\t%s%d := [%s%d | some _ in numbers.range(1, 300)]\n", name, i, name, i-1)
	}
	return b.String()
}

// nestedLoops is one value of 1000^4 parts, which takes a step for each thousand: each
// level repeats one value.
func nestedLoops(first string) string {
	v := first
	for i := range 4 {
		v = fmt.Sprintf("[w%d | v%d := %s; some _ in numbers.range(1, 1000); w%d := v%d]", i, i, v, i, i)
	}
	return v
}

func doubledTen(name string) string {
	var b strings.Builder
	for i := 1; i <= 10; i++ {
		fmt.Fprintf(&b, "%s%d := [%s%d, %s%d]\n", name, i, name, i-1, name, i-1)
	}
	return b.String()
}

// manyRules are three hundred that ask the same, behind one that is violated: past the
// time limit they have half of it again, all together.
func manyRules(body string) string {
	var b strings.Builder
	b.WriteString("deny contains \"known\" if true\nlist := [" + strings.Repeat("1, ", 200) + "1]\n")
	for i := range 300 {
		fmt.Fprintf(&b, "deny contains \"x%d\" if %s\n", i, body)
	}
	return b.String()
}
