// SPDX-License-Identifier: Apache-2.0

package size

import (
	"math"
	"math/bits"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// MaxUnits bounds what is compared at once, in units: OPA compares two values, or sorts
	// one, without ever asking whether it must stop. A unit takes about ten nanoseconds.
	MaxUnits = 16 << 20
	// bytesOfUnit is how much text is compared as fast as one value.
	bytesOfUnit = 64
	// manyParts is from how many elements on a value is looked up, and remembered: a
	// shorter one is counted as fast. An evaluation remembers large values alone, and
	// mostRemembered of them.
	manyParts      = 4
	largeValue     = 4096
	mostRemembered = 4096
)

// Scale tells what it takes to compare a value with one that is equal, or to sort it,
// with all that it holds, as often as it holds it: values share parts, so that a small one
// may be astronomically large to whatever compares it.
type Scale struct {
	// most is where it stops: larger values weigh more than that.
	most int64
	// shared are the sizes of parts of what is given; they aren't changed.
	shared []map[ast.Value]int64
	// known are those of values that are large.
	known map[ast.Value]int64
	// remember is from which size on values are kept in known; bounded says that so many are
	// kept and no more.
	remember int64
	bounded  bool
}

// NewScale weighs what one evaluation makes, up to a size in units; shared are the sizes of
// parts of what it is given.
func NewScale(most int64, shared ...map[ast.Value]int64) *Scale {
	return &Scale{most: most, shared: shared, known: map[ast.Value]int64{}, remember: largeValue, bounded: true}
}

// Units is the size of one value, or more than maxUnits.
func Units(v ast.Value) int64 {
	s := &Scale{most: MaxUnits, remember: math.MaxInt64}
	return s.Of(v)
}

// NewInputScale weighs the parts of an input, for others to look up.
func NewInputScale() *Scale {
	return &Scale{most: math.MaxInt64 / 4, known: map[ast.Value]int64{}, remember: manyParts}
}

// Sizes are those of the large values that were weighed.
func (s *Scale) Sizes() map[ast.Value]int64 { return s.known }

// MostBytes is the longest text that doesn't exceed it.
func (s *Scale) MostBytes() int64 { return s.most * bytesOfUnit }

// Exceeds says that a value is larger than most.
func (s *Scale) Exceeds(v ast.Value) bool { return s.Of(v) > s.most }

// Of is the size of a value, or more than most.
func (s *Scale) Of(v ast.Value) int64 {
	switch v := v.(type) {
	case ast.String:
		return 1 + int64(len(v))/bytesOfUnit
	case ast.Number:
		return ofDigits(string(v))
	case *ast.Array:
		return s.collection(v, v.Len(), s.array)
	case ast.Set:
		return s.collection(v, v.Len(), s.set)
	case ast.Object:
		return s.collection(v, v.Len(), s.object)
	default:
		return 1
	}
}

// ofDigits takes longer numbers for as much as the square of their length: they are
// compared as fractions.
func ofDigits(number string) int64 {
	const fast = 18
	if len(number) <= fast && !strings.ContainsAny(number, "eE") {
		return 1
	}
	if !WithinDigits(number) {
		return math.MaxInt64 / 4
	}
	return MaxDigits
}

func (s *Scale) collection(v ast.Value, length int, count func(ast.Value) int64) int64 {
	if length < manyParts {
		return count(v)
	}
	for _, sizes := range s.shared {
		if size, found := sizes[v]; found {
			return size
		}
	}
	if size, found := s.known[v]; found {
		return size
	}
	size := count(v)
	if size >= s.remember && size <= s.most && (!s.bounded || len(s.known) < mostRemembered) {
		s.known[v] = size
	}
	return size
}

func (s *Scale) array(v ast.Value) int64 {
	array := v.(*ast.Array)
	total := int64(1)
	for i := 0; i < array.Len() && total <= s.most; i++ {
		total += s.Of(array.Elem(i).Value)
	}
	return total
}

// set takes the elements as often as they are compared when they are sorted, or looked
// up among others of the same hash.
func (s *Scale) set(v ast.Value) int64 {
	elements := Elements(v.(ast.Set))
	total, largest := int64(1), int64(1)
	for _, element := range elements {
		size := s.Of(element.Value)
		if total, largest = total+size, max(largest, size); total > s.most {
			return total
		}
	}
	if len(elements) <= FewKeys {
		return total
	}
	return Plus(total*int64(bits.Len(uint(len(elements)))), Times(Collisions(elements), largest))
}

// object does so with the keys.
func (s *Scale) object(v ast.Value) int64 {
	entries := Entries(v.(ast.Object))
	total, largest := int64(1), int64(1)
	for _, entry := range entries {
		size := s.Of(entry.key.Value)
		if total, largest = total+size, max(largest, size); total > s.most {
			return total
		}
	}
	if len(entries) > FewKeys {
		keys := make([]*ast.Term, len(entries))
		for i, entry := range entries {
			keys[i] = entry.key
		}
		total = Plus(total*int64(bits.Len(uint(len(keys)))), Times(Collisions(keys), largest))
	}
	for i := 0; i < len(entries) && total <= s.most; i++ {
		total += s.Of(entries[i].value.Value)
	}
	return total
}
