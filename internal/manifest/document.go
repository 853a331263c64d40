// SPDX-License-Identifier: Apache-2.0

package manifest

import "sync"

// Document is one object of a file.
type Document struct {
	// File is the path as the user named it, or Stdin.
	File string
	// Line is where the object begins, from 1.
	Line int
	// Index is the object's number in its file, from 0. Items of a List count one
	// each.
	Index int
	// Object holds JSON values as unstructured content does.
	Object map[string]any

	place  Place
	source *source
}

// Place says where in its file an object is written.
type Place struct {
	// Start and End are the bounds in bytes of the YAML document, or of the file
	// for JSON.
	Start, End int
	// Pointer is the JSON Pointer to the object within that document: empty, or
	// "/items/3" for an item of a List.
	Pointer string
}

// Place says where in its file the object is written.
func (d *Document) Place() Place { return d.place }

// Text is the YAML document, or the JSON, that the object is written in, and the line of its file at which that
// begins, from 1; nil where the text isn't known. It is shared by all objects of the document: read it only.
func (d *Document) Text() (text []byte, line int) {
	if d.source == nil {
		return nil, 0
	}
	return d.source.text, d.source.line
}

// LineOf is the line of the field that a JSON Pointer leads to, or of its nearest
// parent that is written; the object's own line where there is none. It is safe
// for concurrent use.
func (d *Document) LineOf(pointer string) int {
	if d.source == nil {
		return d.Line
	}
	if line := d.source.lineOf(d.place.Pointer + pointer); line > 0 {
		return line
	}
	return d.Line
}

// LinesOf tells the line of what a JSON Pointer into a text leads to, as far as it leads; 0 where that has none.
func LinesOf(text []byte) func(pointer string) int { return (&source{text: text, line: 1}).lineOf }

// source is the text of one document of a file.
type source struct {
	text []byte
	// line is where the text begins in its file, from 1.
	line int

	parse sync.Once
	tree  *tree
}

// lineOf is the line in the file of the value at the pointer; 0 when the text has
// no positions.
func (s *source) lineOf(pointer string) int {
	s.parse.Do(func() { s.tree = parseTree(s.text) })
	line := s.tree.lineOf(pointer)
	if line == 0 {
		return 0
	}
	return s.line + line - 1
}
