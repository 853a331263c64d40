// SPDX-License-Identifier: Apache-2.0

package size

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
)

func TestWhatAValueWeighs(t *testing.T) {
	small := ast.MustParseTerm(`["a", 1, true, null]`)
	large := small
	for range 60 {
		large = ast.ArrayTerm(large, large)
	}
	fractions := make([]*ast.Term, 1000)
	for i := range fractions {
		fractions[i] = ast.MustParseTerm(fmt.Sprintf("0.%04d", i+1))
	}
	cases := map[string]struct {
		value      ast.Value
		least, max int64
	}{
		"a truth value":             {ast.Boolean(true), 1, 1},
		"a text":                    {ast.String("abc"), 1, 1},
		"a long text":               {ast.String(strings.Repeat("a", 6400)), 101, 101},
		"a number":                  {ast.Number("123"), 1, 1},
		"a number of many digits":   {ast.Number(strings.Repeat("1", 100)), 100, 400},
		"a number too long":         {ast.Number(strings.Repeat("1", 500)), math.MaxInt64 / 4, math.MaxInt64},
		"a number by its exponent":  {ast.Number("1e999"), math.MaxInt64 / 4, math.MaxInt64},
		"a list":                    {small.Value, 5, 5},
		"an object":                 {ast.MustParseTerm(`{"a": [1, 2], "b": 3}`).Value, 7, 7},
		"a list of shared parts":    {large.Value, MaxUnits + 1, math.MaxInt64},
		"an object of shared parts": {ast.NewObject(ast.Item(ast.StringTerm("a"), large)), MaxUnits + 1, math.MaxInt64},
		"a set of shared parts":     {ast.NewSet(large), MaxUnits + 1, math.MaxInt64},
		"keys of shared parts":      {ast.NewObject(ast.Item(large, small)), MaxUnits + 1, math.MaxInt64},
		"a set of one hash":         {ast.NewSet(fractions...), 400_000, 600_000},
		"a list of fractions":       {ast.NewArray(fractions...), 1001, 1001},
	}
	for name, tc := range cases {
		s := &Scale{most: MaxUnits, known: map[ast.Value]int64{}, remember: largeValue}
		if got := s.Of(tc.value); got < tc.least || got > tc.max {
			t.Errorf("%s weighs %d, want %d to %d", name, got, tc.least, tc.max)
		}
	}
}

func TestAScaleRemembersLargeValuesAlone(t *testing.T) {
	s := &Scale{most: MaxUnits, bounded: true, known: map[ast.Value]int64{}, remember: largeValue}
	s.Of(ast.MustParseTerm(`["a", "b", "c", "d"]`).Value)
	if len(s.known) != 0 {
		t.Errorf("it remembers %d small values", len(s.known))
	}
	large := make([]*ast.Term, largeValue)
	for i := range large {
		large[i] = ast.IntNumberTerm(i)
	}
	list := ast.NewArray(large...)
	if first, again := s.Of(list), s.Of(list); len(s.known) != 1 || first != again {
		t.Errorf("it remembers %d values: %d, then %d", len(s.known), first, again)
	}
}

// TestCollisions holds the estimate to what OPA's set does: the probes that it takes to
// put all keys in, counted with a table of its kind.
func TestCollisions(t *testing.T) {
	terms := func(format string, n int) (out []*ast.Term) {
		for i := range n {
			out = append(out, ast.MustParseTerm(strings.ReplaceAll(format, "I", fmt.Sprint(i+1))))
		}
		return out
	}
	for name, keys := range map[string][]*ast.Term{
		"texts":              terms(`"aI"`, 100),
		"numbers":            terms(`I`, 100),
		"fractions":          terms(`1.0000I`, 100),
		"behind a chain":     append(terms(`I`, 100), terms(`1.0000I`, 5)...),
		"sums":               terms(`[I, {"a": I}, 100000]`, 100),
		"one key many times": append(terms(`1.5`, 50), terms(`I`, 50)...),
	} {
		table, probes := map[int]*ast.Term{}, int64(0)
		for _, key := range keys {
			at := key.Hash()
			for table[at] != nil && !table[at].Equal(key) {
				at++
				probes++
			}
			table[at] = key
		}
		if got := Collisions(keys); got < probes || probes == 0 && got > 0 {
			t.Errorf("%s: estimated %d, in fact %d", name, got, probes)
		}
	}
}
