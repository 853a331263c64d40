// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/size"
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
func heapOf(term *ast.Term) int64 { return perObject + size.Heap(term.Value) }

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
