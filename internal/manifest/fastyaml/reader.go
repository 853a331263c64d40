// SPDX-License-Identifier: Apache-2.0

package fastyaml

import (
	"strconv"
	"unicode/utf8"
)

// plainReader reads the part of YAML in which nearly all manifests are written:
// block mappings and lists, scalars of one line, literal texts, flow values on one
// line, comments. Reading is most of the work of a check, and the library needs more than
// three times as long (measured: docs/decisions/yaml-reader.md).
//
// It must never read anything otherwise than the library does: whatever it doesn't
// know, or looks like a mistake, it leaves to the library, whose word on it counts.
type plainReader struct {
	text  string
	lines []plainLine
	// at is the line that is read next.
	at int
	// found takes the line of each key and element by its JSON Pointer, if it isn't
	// nil; path is the pointer to where the reader is.
	found map[string]int
	path  []byte
	depth int
}

// plainLine is a line that is neither empty nor a comment.
type plainLine struct {
	// indent is the column of text, which runs to the end of the line.
	indent int
	text   string
	// start is the offset of the whole line, number its own from 1.
	start, number int
}

// maxPlainDepth bounds how deep values may lie within each other.
const maxPlainDepth = 60

// Read reads a document; false when it takes the library.
func Read(text string) (any, bool) { return (&plainReader{text: text}).document() }

// Lines are the lines of a document's fields by JSON Pointer; false when it
// takes the library.
func Lines(text string) (map[string]int, bool) {
	p := &plainReader{text: text, found: map[string]int{}}
	_, ok := p.document()
	return p.found, ok
}

func (p *plainReader) document() (any, bool) {
	if !p.scan() || len(p.lines) == 0 {
		return nil, false
	}
	if first := &p.lines[0]; first.indent == 0 && len(first.text) >= 3 && first.text[:3] == "---" {
		if !ends(first.text[3:]) {
			return nil, false
		}
		p.at++
	}
	if p.at == len(p.lines) || p.lines[p.at].indent != 0 {
		return nil, false
	}
	value, ok := p.block(0)
	return value, ok && p.at == len(p.lines)
}

// scan finds the lines. It is false when there is a character that isn't printable.
func (p *plainReader) scan() bool {
	count := 1
	for _, c := range p.text {
		switch {
		case c == '\n':
			count++
		case !printable(c):
			return false
		}
	}
	p.lines = make([]plainLine, 0, count)
	for start, number := 0, 1; start < len(p.text); number++ {
		end := endOfLine(p.text, start)
		at := start
		for at < end && p.text[at] == ' ' {
			at++
		}
		if at < end && p.text[at] != '#' {
			p.lines = append(p.lines, plainLine{indent: at - start, text: p.text[at:end], start: start, number: number})
		}
		start = end + 1
	}
	return true
}

// printable leaves out what the library refuses, and what ends a line in YAML 1.1
// besides a line feed.
func printable(c rune) bool {
	switch {
	case c < 0x7f:
		return c >= ' ' || c == '\t'
	case c == 0x2028, c == 0x2029, c == 0xfeff, c == utf8.RuneError:
		return false
	}
	return c > 0xa0 && c < 0xfffe || c > 0xffff
}

func endOfLine(text string, at int) int {
	for at < len(text) && text[at] != '\n' {
		at++
	}
	return at
}

// block reads the mapping or list that begins at the next line.
func (p *plainReader) block(indent int) (any, bool) {
	if p.depth++; p.depth > maxPlainDepth {
		return nil, false
	}
	defer func() { p.depth-- }()
	if isItem(p.lines[p.at].text) {
		return p.list(indent)
	}
	return p.mapping(indent)
}

func (p *plainReader) mapping(indent int) (any, bool) {
	object := map[string]any{}
	for p.at < len(p.lines) && p.lines[p.at].indent >= indent {
		line := &p.lines[p.at]
		if line.indent > indent || isItem(line.text) {
			return nil, false
		}
		key, rest, isKey := plainKey(line.text)
		if _, twice := object[key]; !isKey || twice {
			return nil, false
		}
		back := p.enter(key, line.number)
		value, ok := p.value(rest, indent, true)
		if !ok {
			return nil, false
		}
		object[key] = value
		p.path = p.path[:back]
	}
	return object, true
}

func (p *plainReader) list(indent int) (any, bool) {
	elements := []any{}
	for p.at < len(p.lines) && p.lines[p.at].indent == indent && isItem(p.lines[p.at].text) {
		back := p.enterElement(len(elements))
		element, ok := p.element(indent)
		if !ok {
			return nil, false
		}
		elements = append(elements, element)
		p.path = p.path[:back]
	}
	return elements, true
}

// element reads what follows a dash: a mapping may begin on its line.
func (p *plainReader) element(indent int) (any, bool) {
	line := &p.lines[p.at]
	content := trimLeft(line.text[1:])
	if _, _, isKey := plainKey(content); isKey {
		line.indent += len(line.text) - len(content)
		line.text = content
		return p.block(line.indent)
	}
	if content != "" && isItem(content) {
		return nil, false
	}
	return p.value(line.text[1:], indent, false)
}

// value reads what follows a key or a dash, on its line or below it. indent is
// that of the mapping or list; the list of a key may have the same.
func (p *plainReader) value(rest string, indent int, listBelow bool) (any, bool) {
	if !ends(rest) {
		return p.inline(trimLeft(rest), indent)
	}
	p.at++
	if p.at == len(p.lines) {
		return nil, true
	}
	switch next := &p.lines[p.at]; {
	case next.indent > indent:
		return p.block(next.indent)
	case listBelow && next.indent == indent && isItem(next.text):
		return p.block(indent)
	}
	return nil, true
}

// inline reads a value that begins on the line of its key or dash.
func (p *plainReader) inline(text string, indent int) (any, bool) {
	var value any
	var ok bool
	switch text[0] {
	case '|':
		return p.literal(text, indent)
	case '{', '[', '"', '\'':
		flow := plainFlow{text: text}
		value, ok = flow.value()
		ok = ok && ends(text[flow.at:])
	default:
		value, ok = plainScalar(text)
	}
	p.at++
	// A deeper line would continue the value.
	if !ok || p.at < len(p.lines) && p.lines[p.at].indent > indent {
		return nil, false
	}
	return value, true
}

// enter notes the line of a key, and steps below it; the path is to be cut back to
// the length returned.
func (p *plainReader) enter(key string, number int) (back int) {
	back = len(p.path)
	if p.found == nil {
		return back
	}
	p.path = append(p.path, '/')
	for i := range len(key) {
		switch key[i] {
		case '~':
			p.path = append(p.path, "~0"...)
		case '/':
			p.path = append(p.path, "~1"...)
		default:
			p.path = append(p.path, key[i])
		}
	}
	p.found[string(p.path)] = number
	return back
}

func (p *plainReader) enterElement(index int) (back int) {
	back = len(p.path)
	if p.found != nil {
		p.path = strconv.AppendInt(append(p.path, '/'), int64(index), 10)
		p.found[string(p.path)] = p.lines[p.at].number
	}
	return back
}
