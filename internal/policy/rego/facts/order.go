// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unique"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// mostOrdered bounds how many elements are put in order, and mostCompared how many values are compared for that.
	// Where there are more, nothing is remembered.
	mostOrdered, mostCompared = 64, 10_000
)

// An element's equals are bits of one word.
const _ = uint(64 - mostOrdered)

// Order is that of the elements of some lists of a document, as a set of all of them has it. Together with what is read
// of each element it tells what a rule makes of the set in turn, into an array for one.
type Order struct {
	lists []path
	// name tells it from other orders, and from parts.
	name unique.Handle[string]
}

// Orders are those of elements that stand below some keys, at any of several places.
func (r Reads) Orders(places ...[]string) (orders []Order) {
	for _, lists := range r.orders {
		var o Order
		for _, list := range lists {
			i := slices.IndexFunc(places, list.begins)
			if i < 0 {
				break
			}
			o.lists = append(o.lists, list[len(places[i]):len(list)-1])
		}
		if len(o.lists) == len(lists) {
			o.name = unique.Make(fmt.Sprintf("order of %q", o.lists))
			orders = append(orders, o)
		}
	}
	return orders
}

// begins says that a path leads to what stands below some keys.
func (p path) begins(keys []string) bool {
	return len(p) > len(keys) && slices.Equal(p[:len(keys)], keys)
}

// ordered says whether the order of a set's elements can be told from the document: all are those of lists in one
// document, and nothing else is among them.
func (r *reader) ordered(s set) bool {
	if r.documents == nil {
		return false
	}
	lists, known := r.gathered(s)
	known = known && !slices.ContainsFunc(s.rules, func(rule *ast.Rule) bool {
		return !newBody(r, rule, nil).isPart(rule.Head.Key)
	})
	within := func(places [][]string) bool {
		return !slices.ContainsFunc(lists, func(list path) bool {
			return list[len(list)-1] != anyKey || slices.Index(list, anyKey) < len(list)-1 ||
				!slices.ContainsFunc(places, list.begins)
		})
	}
	if !known || slices.ContainsFunc(lists, func(p path) bool { return len(p) == 0 }) ||
		!slices.ContainsFunc(r.documents, within) {
		return false
	}
	r.orders[s.name] = lists
	return true
}

// isPart says that a term is a part of the document itself, and no element of what a rule has made.
func (a *aliases) isPart(t *ast.Term) bool {
	for a.spend(1) {
		if ref, isRef := t.Value.(ast.Ref); isRef {
			if ref.HasPrefix(a.root) {
				return true
			}
			t = ref[0]
		}
		v, isVar := t.Value.(ast.Var)
		if !isVar || a.names[v] == nil {
			return false
		}
		t = a.names[v]
	}
	return false
}

// Order writes how the elements of lists of a document follow one another, and which are equal, as a digest. The byte
// tells the documents of a request apart.
func (t *Text) Order(o *Order, document byte, of any, digests *Digests) {
	t.digest(partOf{document: document, part: o.name}, digests, func() { t.order(o, of) })
}

func (t *Text) order(o *Order, document any) {
	var elements []any
	for _, list := range o.lists {
		value, depth, there := follow(document, list)
		if depth < len(list) {
			value, there = nil, false
		}
		switch v := value.(type) {
		case []any:
			t.size(tagList, len(v))
			elements = append(elements, v...)
		case map[string]any:
			t.Failed = true // its fields' values are elements, too
		default:
			t.Whole(there)
		}
	}
	if len(elements) < 2 {
		return
	}
	places, ok := placesOf(elements)
	if !ok {
		t.Failed = true
		return
	}
	for _, place := range places {
		t.size(tagInteger, place)
	}
}

// placesOf are the places of elements in a set of them, from 0; equal ones have the same. It isn't ok where there are
// too many, or too much to compare.
func placesOf(elements []any) (places []int, ok bool) {
	if len(elements) > mostOrdered {
		return nil, false
	}
	c := &comparer{left: mostCompared}
	order := make([]int, len(elements))
	for i := range order {
		order[i] = i
	}
	var equal [mostOrdered]uint64 // to which of the elements before it each is, by bits
	slices.SortStableFunc(order, func(a, b int) int {
		found := c.compare(elements[a], elements[b])
		if found == 0 {
			equal[max(a, b)] |= 1 << min(a, b)
		}
		return found
	})
	places = make([]int, len(elements))
	for i, at := range order[1:] {
		before := order[i] // it was compared with this one, or it wouldn't be known that none is between them
		places[at] = places[before]
		if equal[at]&(1<<before) == 0 {
			places[at]++
		}
	}
	return places, c.left > 0
}

// comparer compares JSON values as OPA does what is made of them. How many values it compares depends on the values
// alone, and not on the order in which Go walks over a map.
type comparer struct{ left int }

func (c *comparer) compare(a, b any) int {
	if c.left--; c.left <= 0 {
		return 0
	}
	if !nested(a, b) {
		return comparePlain(a, b)
	}
	if list, isList := a.([]any); isList {
		return slices.CompareFunc(list, b.([]any), c.compare)
	}
	return c.objects(a.(map[string]any), b.(map[string]any))
}

// nested says that both values are lists, or both objects.
func nested(a, b any) bool { return rank(a) == rank(b) && rank(a) >= rank([]any{}) }

func comparePlain(a, b any) int {
	if different := cmp.Compare(rank(a), rank(b)); different != 0 {
		return different
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(bit(a), bit(b.(bool)))
	case string:
		return strings.Compare(a, b.(string))
	case int64, float64:
		return compareNumbers(a, b)
	default:
		return 0
	}
}

// objects compares as if field by field in the order of their names: what decides is the first one that only one of
// them has, or that has another value. Nothing is sorted for that.
func (c *comparer) objects(a, b map[string]any) int {
	c.left -= len(a) + len(b)
	end, differs := firstPlain(a, b)
	first := end
	for name, value := range a {
		other, inBoth := b[name]
		if !inBoth || !nested(value, other) || end.found && name > end.name {
			continue
		}
		if different := c.compare(value, other); different != 0 && (!first.found || name < first.name) {
			first, differs = place{name, true}, different
		}
	}
	if !first.found || differs != 0 {
		return differs
	}
	return lacking(first.name, a, b)
}

// place is the name of a field, if there is one.
type place struct {
	name  string
	found bool
}

func (p *place) least(name string) bool {
	if p.found && name >= p.name {
		return false
	}
	p.name, p.found = name, true
	return true
}

// firstPlain is the first field that only one of two objects has, or in which they differ and don't both have a list or
// an object. It differs by 0 where only one has it.
func firstPlain(a, b map[string]any) (first place, differs int) {
	for name, value := range a {
		other, inBoth := b[name]
		different := 0
		if inBoth {
			if nested(value, other) {
				continue
			}
			if different = comparePlain(value, other); different == 0 {
				continue
			}
		}
		if first.least(name) {
			differs = different
		}
	}
	for name := range b {
		if _, inBoth := a[name]; !inBoth && first.least(name) {
			differs = 0
		}
	}
	return first, differs
}

// lacking compares objects of which one lacks a field, all before which they have alike: beside that field the other
// one has its next, which is greater, or nothing.
func lacking(name string, a, b map[string]any) int {
	before := 0
	for other := range a {
		if other < name {
			before++
		}
	}
	_, inA := a[name]
	switch {
	case inA && len(b) > before, !inA && len(a) <= before:
		return -1
	default:
		return 1
	}
}

// rank is that of a type among others.
func rank(value any) int {
	switch value.(type) {
	case nil:
		return 0
	case bool:
		return 1
	case int64, float64:
		return 2
	case string:
		return 3
	case []any:
		return 4
	default:
		return 5
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// compareNumbers compares numbers as OPA does, by their decimal text: for a large float64 that isn't its exact value.
func compareNumbers(a, b any) int {
	wholeA, isWholeA := a.(int64)
	wholeB, isWholeB := b.(int64)
	if isWholeA && isWholeB {
		return cmp.Compare(wholeA, wholeB)
	}
	x, errA := ast.InterfaceToValue(a)
	y, errB := ast.InterfaceToValue(b)
	if errA != nil || errB != nil {
		return 0 // it is no number, and nothing that Excerpt would write
	}
	return x.Compare(y)
}
