// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/open-policy-agent/opa/v1/ast"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
)

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
	if outOfOrder(ast.NewTerm(object)) == nil {
		t.Fatal("it is in order before, which proves nothing")
	}
	inventory.SettleKeys(object)
	if outOfOrder(ast.NewTerm(object)) == nil {
		t.Error("SettleKeys settles the values, too")
	}
	inventory.Settle(object)
	if outOfOrder(ast.NewTerm(object)) != nil {
		t.Error("it isn't in order")
	}
}

// Without the race detector TestWhatIsLookedUpIsOnlyRead may pass by chance: this one looks at the order itself.
func TestWhatRequestsShareIsInOrder(t *testing.T) {
	p := hostsPolicy(theIngresses)
	parameters, written := `{"e":1,"d":{"c":1,"b":{"a":1,"Z":1},"Y":1},"a":1}`, `{"e":{3,1,2},"d":{"c":1,"b":2,"a":3},"a":1}`
	p.Spec.Parameters = &apiextensionsv1.JSON{Raw: []byte(parameters)}
	p.Spec.Rego.Main += "\ndeny contains \"x\" if input.object == " + written + "\n"
	compiled, err := Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	var objects []*unstructured.Unstructured
	for _, name := range []string{"e", "d", "c", "b", "a", "f"} {
		objects = append(objects, ingress("shop", name, "host"), ingress("pay", name, "host"))
	}
	held, more := table(t, compiled.References()[0], objects...), table(t, compiled.References()[0], objects[0])
	for name, term := range map[string]*ast.Term{"the parameters": compiled.parameters,
		"what is looked up": inventory.Join(held, more).View().Data} {
		if at := outOfOrder(term); at != nil {
			t.Errorf("%s: %v isn't in order", name, at)
		}
	}
	found := false
	for _, module := range compiled.compiler.Modules {
		ast.WalkTerms(module, func(term *ast.Term) bool {
			object, isObject := term.Value.(ast.Object)
			if isObject && term.IsGround() && object.Len() == 3 {
				found = true
				if at := outOfOrder(term); at != nil {
					t.Errorf("what is written down: %v isn't in order", at)
				}
			}
			return isObject
		})
	}
	if !found {
		t.Error("what is written down isn't found")
	}
}

// outOfOrder is a part of a term whose keys aren't in order as they are kept; nil where there is none.
func outOfOrder(term *ast.Term) (at *ast.Term) {
	var keys, values []*ast.Term
	switch v := term.Value.(type) {
	case *ast.Array:
		for i := range v.Len() {
			values = append(values, v.Elem(i))
		}
	case ast.Set:
		keys = keysOf(v)
	case ast.Object:
		keys = keysOf(v)
		for _, key := range keys {
			values = append(values, v.Get(key))
		}
	}
	if !slices.IsSortedFunc(keys, ast.TermValueCompare) {
		return term
	}
	for _, part := range slices.Concat(keys, values) {
		if at := outOfOrder(part); at != nil {
			return at
		}
	}
	return nil
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
