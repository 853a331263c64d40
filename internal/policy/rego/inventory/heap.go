// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"math/bits"

	"github.com/open-policy-agent/opa/v1/ast"
)

// What a table and its view take in bytes besides the objects.
const (
	// perObject is for a place in a namespace's map, and in the document that rules see, where maps are two thirds
	// full.
	perObject = 192
	// perNamespace is for its map, and for the documents around its objects.
	perNamespace = 2048
)

// heapOf is about how many bytes an object takes in a table with its view.
func heapOf(term *ast.Term) int64 { return perObject + heap(term.Value) }

// Bytes is about how much memory the table takes, with the view that rules see.
func (t *Table) Bytes() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.bytes
}

// Growth is how many bytes more the table takes with an item, or fewer.
func (t *Table) Growth(item Item) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	var before int64
	in := t.spaces[item.namespace]
	if in != nil {
		before = in.objects[item.name].bytes
	}
	if !item.selected {
		return -before
	}
	if in == nil {
		return perNamespace + item.entry.bytes
	}
	return item.entry.bytes - before
}

// Bytes is how many bytes an item takes besides what the table keeps already, until it is put there.
func (i Item) Bytes() int64 {
	switch {
	case i.shared:
		return 0
	case !i.selected:
		return perObject
	default:
		return i.entry.bytes
	}
}

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

// heap is about how many bytes of memory a value takes with all that it holds, as it is made of JSON: nothing
// of it is shared with others.
func heap(v ast.Value) int64 {
	switch v := v.(type) {
	case ast.String:
		return headerBytes + roundedUp(len(v))
	case ast.Number:
		return headerBytes + roundedUp(len(v))
	case *ast.Array:
		n := int64(v.Len())
		total := objectBytes + n*(2*pointerBytes+termBytes) // the elements, their hashes and terms
		for i := range v.Len() {
			total += heap(v.Elem(i).Value)
		}
		return total
	case ast.Object:
		total := objectHeap(v.Len())
		v.Foreach(func(key, value *ast.Term) { total += heap(key.Value) + heap(value.Value) })
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
