// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

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
		keys := keysOf(v)
		return slices.IsSortedFunc(keys, ast.TermValueCompare) &&
			!slices.ContainsFunc(keys, func(t *ast.Term) bool { return !inOrder(t.Value) })
	case ast.Object:
		keys := keysOf(v)
		return slices.IsSortedFunc(keys, ast.TermValueCompare) && !slices.ContainsFunc(keys, func(key *ast.Term) bool {
			return !inOrder(key.Value) || !inOrder(v.Get(key).Value)
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

// keysOf are the keys of an object, or the elements of a set, in the order in which OPA keeps them: its own methods sort
// them first.
func keysOf(v ast.Value) (keys []*ast.Term) {
	kept := reflect.ValueOf(v).Elem().FieldByName("keys")
	for i := range kept.Len() {
		at := kept.Index(i).UnsafePointer()
		if _, isObject := v.(ast.Object); isObject {
			at = *(*unsafe.Pointer)(at) // the first field of an entry
		}
		keys = append(keys, (*ast.Term)(at))
	}
	return keys
}
