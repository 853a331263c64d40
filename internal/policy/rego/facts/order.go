// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// mostOrdered bounds how many elements are put in order, and mostCompared how many values are compared for that.
	// Where there are more, nothing is remembered.
	mostOrdered, mostCompared = 64, 10_000
)

// Order is that of the elements of some lists of a document, as a set of all of them has it. Together with what is read
// of each element it tells what a rule makes of the set in turn, into an array for one.
type Order struct{ lists []path }

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

// Order writes how the elements of lists follow one another, and which are equal.
func (t *Text) Order(o *Order, document any) {
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
	slices.SortStableFunc(order, func(a, b int) int { return c.compare(elements[a], elements[b]) })
	places = make([]int, len(elements))
	for i, at := range order[1:] {
		places[at] = places[order[i]]
		if c.compare(elements[order[i]], elements[at]) != 0 {
			places[at]++
		}
	}
	return places, c.left > 0
}

// comparer compares JSON values as OPA does what is made of them.
type comparer struct{ left int }

func (c *comparer) compare(a, b any) int {
	if c.left--; c.left <= 0 {
		return 0
	}
	if different := cmp.Compare(rank(a), rank(b)); different != 0 {
		return different
	}
	switch a := a.(type) {
	case bool:
		return cmp.Compare(bit(a), bit(b.(bool)))
	case string:
		return strings.Compare(a, b.(string))
	case int64, float64:
		return number(a).Cmp(number(b))
	case []any:
		return slices.CompareFunc(a, b.([]any), c.compare)
	case map[string]any:
		return c.objects(a, b.(map[string]any))
	default:
		return 0
	}
}

func (c *comparer) objects(a, b map[string]any) int {
	c.left -= len(a) + len(b)
	namesOfA, namesOfB := slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))
	for i := range min(len(namesOfA), len(namesOfB)) {
		if different := strings.Compare(namesOfA[i], namesOfB[i]); different != 0 {
			return different
		}
		if different := c.compare(a[namesOfA[i]], b[namesOfB[i]]); different != 0 {
			return different
		}
	}
	return cmp.Compare(len(a), len(b))
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

func number(value any) *big.Float {
	if whole, isWhole := value.(int64); isWhole {
		return new(big.Float).SetPrec(64).SetInt64(whole)
	}
	fraction, _ := value.(float64)
	return big.NewFloat(fraction)
}
