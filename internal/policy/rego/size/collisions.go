// SPDX-License-Identifier: Apache-2.0

package size

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// FewKeys may collide, and be sorted, at no price worth counting.
const FewKeys = 16

// slot is what of some keys is put at one hash.
type slot struct {
	hash, keys int
	// distinct are those that aren't equal to the first.
	distinct int
	first    *ast.Term
}

// Collisions is how many other keys are looked at when all of some are put into a set or
// an object. OPA's hash of a fraction is the whole number below, and that of a collection
// the sum over its parts, so that many keys can have one; a set puts them in the slots that
// follow, which are those of other keys.
func Collisions(keys []*ast.Term) int64 {
	if len(keys) <= FewKeys {
		return 0
	}
	slots := slotsOf(keys)
	total := int64(0)
	for i := 0; i < len(slots); {
		next, moved, keys := slots[i].hash, false, int64(0)
		end := i
		for ; end < len(slots) && slots[end].hash <= next; end++ {
			if behind, n := int64(next-slots[end].hash), int64(slots[end].distinct); behind > 0 || n > 1 {
				moved = true
				total = Plus(total, Plus(Times(behind, n), Times(n, n-1)/2))
			}
			next += slots[end].distinct
			keys += int64(slots[end].keys - slots[end].distinct)
			if next < slots[end].hash { // past the largest number
				return total
			}
		}
		if moved { // what is there already may stand behind all of them
			total = Plus(total, Times(keys, int64(next-slots[i].hash)))
		}
		i = end
	}
	return total
}

// slotsOf sorts keys by their hash.
func slotsOf(keys []*ast.Term) []slot {
	slots := make([]slot, len(keys))
	for i, key := range keys {
		slots[i] = slot{hash: key.Hash(), keys: 1, distinct: 1, first: key}
	}
	slices.SortFunc(slots, func(a, b slot) int {
		if a.hash < b.hash {
			return -1
		}
		if a.hash > b.hash {
			return 1
		}
		return 0
	})
	out := slots[:1]
	for _, other := range slots[1:] {
		last := &out[len(out)-1]
		if last.hash != other.hash {
			out = append(out, other)
			continue
		}
		last.keys++
		if last.first != other.first && !ast.KeyHashEqual(last.first.Value, other.first.Value) {
			last.distinct++
		}
	}
	return out
}
