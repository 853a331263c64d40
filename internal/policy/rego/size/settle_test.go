// SPDX-License-Identifier: Apache-2.0

package size

import (
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

// inOrder says that the keys of a value, and of all that it holds, are in order as they are kept.
func inOrder(v ast.Value) bool {
	switch v := v.(type) {
	case *ast.Array:
		for i := range v.Len() {
			if !inOrder(v.Elem(i).Value) {
				return false
			}
		}
	case ast.Set:
		return slices.IsSortedFunc(Elements(v), ast.TermValueCompare) &&
			!slices.ContainsFunc(Elements(v), func(t *ast.Term) bool { return !inOrder(t.Value) })
	case ast.Object:
		return slices.IsSortedFunc(Entries(v), func(a, b *Entry) int { return ast.TermValueCompare(a.key, b.key) }) &&
			!slices.ContainsFunc(Entries(v), func(e *Entry) bool {
				return !inOrder(e.key.Value) || !inOrder(e.value.Value)
			})
	}
	return true
}

func numbers(of ...int) ast.Set {
	set := ast.NewSet()
	for _, n := range of {
		set.Add(ast.IntNumberTerm(n))
	}
	return set
}

func TestASettledValueIsInOrder(t *testing.T) {
	object := ast.NewObject()
	for _, key := range []string{"c", "a", "b"} {
		object.Insert(ast.StringTerm(key), ast.ArrayTerm(ast.NewTerm(numbers(3, 1, 2))))
	}
	object.Insert(ast.NewTerm(numbers(9, 7, 8)), ast.NullTerm())
	if inOrder(object) {
		t.Fatal("it is in order before, which proves nothing")
	}
	SettleKeys(object)
	if inOrder(object) {
		t.Error("SettleKeys settles the values, too")
	}
	Settle(object)
	if !inOrder(object) {
		t.Error("it isn't in order")
	}
}

func TestWhatRulesWriteDownIsSettled(t *testing.T) {
	rule := ast.MustParseRule(`p if { q := [r | r := {input.x, 2, 1}]; q == [{"b": 1, "a": 2}] }`)
	written := ast.NewTerm(numbers(3, 1, 2))
	rule.Body.Append(ast.Equality.Expr(ast.VarTerm("q"), ast.ArrayTerm(written)))
	SettleConstants(&ast.Module{Package: ast.MustParsePackage("package a"), Rules: []*ast.Rule{rule}})
	if !inOrder(written.Value) {
		t.Error("it isn't in order")
	}
}
