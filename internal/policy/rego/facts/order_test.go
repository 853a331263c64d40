// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"cmp"
	"slices"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"pgregory.net/rapid"
)

// TestElementsAreOrderedAsOPAOrdersThem holds the places of values to those that OPA gives them in a set.
func TestElementsAreOrderedAsOPAOrdersThem(t *testing.T) {
	often(t, func(rt *rapid.T) {
		elements, depth := make([]any, rapid.IntRange(2, 5).Draw(rt, "elements")), 3
		if rapid.IntRange(0, 9).Draw(rt, "size") == 0 {
			elements, depth = make([]any, rapid.IntRange(6, mostOrdered).Draw(rt, "many")), 1 // sorted in another way
		}
		for i := range elements {
			elements[i] = drawn(rt, depth)
			if i > 0 && rapid.Bool().Draw(rt, "alike") {
				elements[i] = changed(rt, elements[rapid.IntRange(0, i-1).Draw(rt, "which")], depth)
			}
		}
		terms := make([]*ast.Term, len(elements))
		for i, element := range elements {
			value, err := ast.InterfaceToValue(element)
			if err != nil {
				rt.Fatal(err)
			}
			terms[i] = ast.NewTerm(value)
		}
		sorted := ast.NewSet(terms...).Slice()
		places, ok := placesOf(elements)
		if !ok {
			rt.Fatalf("%v aren't put in order", elements)
		}
		for i, term := range terms {
			if want := slices.IndexFunc(sorted, term.Equal); places[i] != want {
				rt.Fatalf("%v has place %d in %v, want %d", term, places[i], sorted, want)
			}
		}
	})
}

// Numbers are compared as numbers, however they are written.
func TestNumbersAreOrderedAsNumbers(t *testing.T) {
	numbers := []any{int64(1), 1.5, float64(2), int64(2), int64(1<<53 + 1), float64(1 << 53), -0.5, 1e300,
		int64(1 << 56), float64(1 << 56), int64(1 << 57), float64(1 << 57), int64(1 << 60), float64(1 << 60),
		int64(1152921504606847000), int64(1<<63 - 1), float64(1 << 63), int64(-1 << 60), float64(-1 << 60)}
	places, _ := placesOf(numbers)
	for i, a := range numbers {
		for j, b := range numbers {
			x, _ := ast.InterfaceToValue(a)
			y, _ := ast.InterfaceToValue(b)
			if got, want := cmp.Compare(places[i], places[j]), x.Compare(y); got != want {
				t.Errorf("%v beside %v: %d, want %d", a, b, got, want)
			}
		}
	}
}

// What can't be put in order isn't written, so that nothing is remembered of it, and it takes no longer than a few
// thousand comparisons to find out.
func TestWhatCannotBeOrderedIsNotWritten(t *testing.T) {
	many, long := make([]any, mostOrdered+1), make([]any, mostCompared)
	for i := range long {
		long[i] = int64(i)
	}
	for name, list := range map[string]any{"too many": many, "too long": []any{long, slices.Clone(long)},
		"fields": map[string]any{"a": int64(1)}} {
		text := &Text{Most: MaxText}
		text.order(&Order{lists: []path{{"a", "b"}}}, map[string]any{"a": map[string]any{"b": list}})
		if !text.Failed {
			t.Errorf("%s: %d bytes are written", name, len(text.Bytes))
		}
	}
}

// The order of elements is told apart from another, over several lists, and so is which are equal.
func TestAnOrderIsOfAllLists(t *testing.T) {
	written := func(a, b any) []byte {
		text := &Text{Most: MaxText}
		text.order(&Order{lists: []path{{"a"}, {"b"}}}, map[string]any{"a": a, "b": b})
		if text.Failed {
			t.Fatalf("%v, %v: not written", a, b)
		}
		return text.Bytes
	}
	list := func(elements ...any) any { return elements }
	all := [][]byte{written(list("x"), list("y")), written(list("y"), list("x")), written(list("x"), list("x")),
		written(list("x", "y"), nil), written(list(), list("x", "y")), written(list("x"), list()), written("x", nil)}
	for i, one := range all {
		for j, other := range all {
			if i != j && bytes.Equal(one, other) {
				t.Errorf("%d and %d are written the same", i, j)
			}
		}
	}
	if !bytes.Equal(all[0], written(list("a"), list("b"))) {
		t.Error("more than the order is written")
	}
}
