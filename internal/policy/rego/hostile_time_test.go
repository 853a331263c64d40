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
	out["shared parts in the body of a not"] = "import future.keywords.not\nx if not {\n" + chain("a") + chain("b") +
		"\ta40 != b40\n}\n" + `deny contains "x" if x`
	for how, ask := range map[string]string{"": "a != b", " by in": "not a in [1, b]"} {
		out["gathered parts, doubled"+how] =
			"x0 := [1 | some _ in numbers.range(1, 2000)]\ny0 := [1 | some _ in numbers.range(1, 2000)]\n" +
				doubledTen("x") + doubledTen("y") +
				"a := [x10 | some _ in numbers.range(1, 100000)]\nb := [y10 | some _ in numbers.range(1, 100000)]\n" +
				`deny contains "x" if ` + ask
	}
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
