// SPDX-License-Identifier: Apache-2.0

package facts_test

import (
	"fmt"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// chain is a policy of sets of which each is made of the one before in two ways, by what follows its elements.
func chain(levels int, one, other string) string {
	var b strings.Builder
	b.WriteString("s0 contains c if c := input.object.spec.containers[_]\n")
	for i := 1; i <= levels; i++ {
		for _, part := range []string{one, other} {
			fmt.Fprintf(&b, "s%d contains c if { c := s%d[_]%s }\n", i, i-1, part)
		}
	}
	fmt.Fprintf(&b, "deny contains \"x\" if s%d[_].c\n", levels)
	return b.String()
}

// tree is a policy that names so many fields at one of eight levels each, and any at the others.
func tree(names int) string {
	var b strings.Builder
	for level := range 8 {
		for i := range names {
			b.WriteString(`deny contains "x" if input.object`)
			for l := range 8 {
				if l == level {
					fmt.Fprintf(&b, ".f%d", i)
				} else {
					b.WriteString("[_]")
				}
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

// calls is a policy of functions of which each calls the one before with one text or another, in each argument.
func calls(functions int, innermost string) string {
	args := make([]string, functions)
	for i := range args {
		args[i] = fmt.Sprintf("a%d", i)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "f0(x, %s) {\n%s}\n", strings.Join(args, ", "), innermost)
	for i := 1; i < functions; i++ {
		for _, text := range []string{`"x"`, `"y"`} {
			given := append([]string{}, args...)
			given[i] = text
			fmt.Fprintf(&b, "f%d(x, %s) { f%d(x, %s) }\n", i, strings.Join(args, ", "), i-1, strings.Join(given, ", "))
		}
	}
	texts := strings.Repeat(`, "t"`, functions)
	fmt.Fprintf(&b, "deny[\"x\"] { f%d(input.object%s) }\n", functions-1, texts)
	return b.String()
}

// TestFollowingEnds looks at policies of a few KB of which very many paths lead into the input. Each of them took minutes,
// or all memory.
func TestFollowingEnds(t *testing.T) {
	var uses, links, fields strings.Builder
	for i := range 100 {
		fmt.Fprintf(&uses, "\tx.a%d\n", i)
	}
	for i := range 190 {
		fmt.Fprintf(&links, "\tv%d = v%d\n", 190-i, 189-i)
	}
	for i := range 800 {
		fields.WriteString("deny contains \"x\" if {\n")
		for l := range 25 {
			fmt.Fprintf(&fields, "\tinput.object.f%d\n", 25*i+l)
		}
		fields.WriteString("}\n")
	}
	for about, rego := range map[string]string{
		"sets of sets":                        chain(60, "", ""),
		"sets of sets, of which parts differ": chain(60, ".a", ".b"),
		"fields of any name, at eight levels": tree(12),
		"functions of many texts":             calls(14, uses.String()),
		"functions of many names":             calls(14, "\tinput.object[v190]\n"+links.String()+"\tv0 == x\n"),
		"very many fields":                    fields.String(),
	} {
		t.Run(about, func(t *testing.T) {
			version := v1alpha1.RegoV1
			if strings.HasPrefix(rego, "f0(") {
				version = v1alpha1.RegoV0
			}
			reads := readsOf(t, version, rego)
			if !reads.May("object") {
				t.Error("it says that nothing is read")
			}
		})
	}
}

// TestAKeyThatLooksLikeNoOther is one that paths had for their own use: it stands for any.
func TestAKeyThatLooksLikeNoOther(t *testing.T) {
	reads := readsOf(t, v1alpha1.RegoV1,
		`deny contains "x" if { input.object.spec["\u0000present"].y == "bad"; input.object.spec.a }`)
	if !reads.May("object", "spec", "\x00present", "y") || !reads.May("object", "spec", "other", "y") {
		t.Error("the field isn't read")
	}
}
