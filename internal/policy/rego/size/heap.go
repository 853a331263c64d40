// SPDX-License-Identifier: Apache-2.0

package size

import (
	"math/bits"

	"github.com/open-policy-agent/opa/v1/ast"
)

// Bytes that the Go runtime gives to the parts of values.
const (
	termBytes    = 24 // ast.Term: an interface and a pointer
	headerBytes  = 16 // what an interface points to for a string or a number
	objectBytes  = 64 // ast's objects and arrays, without what they point to
	entryBytes   = 24 // a key of an object with its value
	pointerBytes = 8
	mapBytes     = 48 // a map, without its slots
	groupSlots   = 8  // slots are given in groups
	slotBytes    = 17 // a hash and a pointer, with their share of the group's control word
	tableBytes   = 40 // what a map of more than one group has besides
)

// Heap is about how many bytes of memory a value takes with all that it holds, as it is made of JSON: nothing
// of it is shared with others. Sets aren't JSON, and count as arrays.
func Heap(v ast.Value) int64 {
	switch v := v.(type) {
	case ast.String:
		return headerBytes + roundedUp(len(v))
	case ast.Number:
		return headerBytes + roundedUp(len(v))
	case *ast.Array:
		n := int64(v.Len())
		total := objectBytes + n*(2*pointerBytes+termBytes) // the elements, their hashes and terms
		for i := range v.Len() {
			total += Heap(v.Elem(i).Value)
		}
		return total
	case ast.Object:
		total := objectHeap(v.Len())
		for _, entry := range Entries(v) {
			total += Heap(entry.key.Value) + Heap(entry.value.Value)
		}
		return total
	case ast.Set:
		total := objectHeap(v.Len())
		for _, element := range Elements(v) {
			total += Heap(element.Value)
		}
		return total
	default: // null, true and false are there once
		return 0
	}
}

// roundedUp is what a text of some bytes takes.
func roundedUp(length int) int64 { return int64(length+7) &^ 7 }

// objectHeap is what an object of so many keys takes, without the keys and the values but with their terms.
func objectHeap(keys int) int64 {
	return objectBytes + int64(keys)*(2*termBytes+entryBytes+pointerBytes) + mapHeap(keys, slotBytes)
}

// mapHeap is what a map of so many keys takes, slot being the size of a key with its value and a byte.
func mapHeap(keys int, slot int64) int64 {
	switch {
	case keys == 0:
		return mapBytes
	case keys <= groupSlots:
		return mapBytes + groupSlots*slot
	}
	slots := int64(1) << bits.Len64(uint64(keys)*8/7) // at most seven of eight slots are taken
	return mapBytes + tableBytes + slots*slot
}
