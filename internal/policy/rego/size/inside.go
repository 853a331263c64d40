// SPDX-License-Identifier: Apache-2.0

package size

import (
	"reflect"

	"github.com/open-policy-agent/opa/v1/ast"
)

// setInside and objectInside begin as OPA's own sets and objects do. OPA's iterators sort
// the keys first, which may be what must be prevented.
type (
	setInside struct {
		elems map[int]*ast.Term
		keys  []*ast.Term
	}
	objectInside struct {
		elems map[int]*Entry
		keys  []*Entry
	}
)

// Entry is a key of an object and its value. Its fields are named as OPA's are.
type Entry struct{ key, value *ast.Term }

// Key is what the value stands under: read it only.
func (e *Entry) Key() *ast.Term { return e.key }

// Value is what stands under the key: read it only.
func (e *Entry) Value() *ast.Term { return e.value }

// Elements are the elements of a set in the order in which they came: read them only.
func Elements(set ast.Set) []*ast.Term {
	return (*setInside)(reflect.ValueOf(set).UnsafePointer()).keys
}

// Entries are the keys and values of an object likewise.
func Entries(object ast.Object) []*Entry {
	if reflect.TypeOf(object) == reflect.TypeOf(ast.InternedEmptyObjectValue) {
		return (*objectInside)(reflect.ValueOf(object).UnsafePointer()).keys
	}
	var out []*Entry // one that is read lazily: it holds what was JSON
	object.Foreach(func(key, value *ast.Term) { out = append(out, &Entry{key: key, value: value}) })
	return out
}

// init holds OPA's sets and objects to what is read of them here: another version of OPA
// may need another reading.
func init() {
	if !beginsAs(reflect.TypeOf(ast.NewSet()).Elem(), reflect.TypeFor[setInside]()) ||
		!beginsAs(reflect.TypeOf(ast.InternedEmptyObjectValue).Elem(), reflect.TypeFor[objectInside]()) {
		panic("OPA's sets or objects are made otherwise than internal/policy/rego/size reads them")
	}
}

// beginsAs says that the first fields of a struct are those of another, by name, place and
// type.
func beginsAs(theirs, ours reflect.Type) bool {
	if theirs.NumField() < ours.NumField() {
		return false
	}
	for i := range ours.NumField() {
		a, b := theirs.Field(i), ours.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset || !alike(a.Type, b.Type) {
			return false
		}
	}
	return true
}

// alike says that types are the same, but for structs that they point to: those begin
// alike.
func alike(theirs, ours reflect.Type) bool {
	switch {
	case theirs == ours:
		return true
	case theirs.Kind() != ours.Kind():
		return false
	case theirs.Kind() == reflect.Map, theirs.Kind() == reflect.Slice:
		return alike(theirs.Elem(), ours.Elem())
	default:
		return theirs.Kind() == reflect.Pointer && theirs.Elem().Kind() == reflect.Struct &&
			beginsAs(theirs.Elem(), ours.Elem())
	}
}
