// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// page is a text with the places of all that is written in it.
type page struct {
	text  []byte
	lines []int // where each line begins
	root  *part
	json  bool
	style style
}

// part is a written value: from start to end, anchors and tags included.
type part struct {
	node       *yaml.Node
	start, end int
	// flow says that it is written in brackets, or within them.
	flow    bool
	entries []*entry
}

// entry is an element of a mapping or sequence.
type entry struct {
	// name is the key, of a mapping.
	name  string
	merge bool
	// root says that it is the whole document.
	root bool
	// start is where its key or dash begins, colon where the place for its value
	// begins: behind the colon or dash.
	start, colon int
	value        *part
}

// member is the entry of a key.
func (p *part) member(name string) *entry {
	for _, e := range p.entries {
		if e.name == name && !e.merge {
			return e
		}
	}
	return nil
}

// block says that it is a collection written by indentation.
func (p *part) block() bool {
	return !p.flow && (p.node.Kind == yaml.MappingNode || p.node.Kind == yaml.SequenceNode)
}

func layOut(text []byte) (*page, error) {
	p := &page{text: text, lines: []int{0}, json: json.Valid(text)}
	for i, c := range text {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	readable := text
	if p.json { // it may be indented by tabs; within its strings they are escaped
		readable = bytes.ReplaceAll(text, []byte{'\t'}, []byte{' '})
	}
	document := &yaml.Node{}
	if err := yaml.Unmarshal(readable, document); err != nil || len(document.Content) != 1 {
		return nil, fmt.Errorf("%w (the places of its fields can't be found: %w)", ErrByHand, err)
	}
	var err error
	if p.root, err = p.part(document.Content[0], len(text), -1, false); err != nil {
		return nil, err
	}
	p.style = p.styleOf(p.root)
	return p, nil
}

// offset is where a node begins: the parser counts characters, the text bytes.
func (p *page) offset(n *yaml.Node) int {
	if n.Line < 1 || n.Line > len(p.lines) {
		return len(p.text)
	}
	at := p.lines[n.Line-1]
	for i := 1; i < n.Column && at < len(p.text); i++ {
		at++
		for at < len(p.text) && p.text[at]&0xC0 == 0x80 {
			at++
		}
	}
	return at
}

// part finds the bounds of a node that ends before limit; indent is the column of the
// key or dash that it belongs to.
func (p *page) part(n *yaml.Node, limit, indent int, inFlow bool) (*part, error) {
	made := &part{node: n, start: p.offset(n), flow: inFlow || n.Style&yaml.FlowStyle != 0}
	if n.Kind == yaml.AliasNode {
		made.end = made.start + 1 + len(n.Value)
		return made, nil
	}
	inner := p.behindProperties(made.start, limit)
	var err error
	switch {
	case n.Kind == yaml.ScalarNode:
		made.end, err = p.scalarEnd(n, inner, limit, indent, inFlow)
	case n.Kind == yaml.MappingNode:
		made.entries, err = p.members(n, limit, made.flow)
	default:
		made.entries, err = p.elements(n, inner, limit, made.flow)
	}
	if err != nil || n.Kind == yaml.ScalarNode {
		return made, err
	}
	made.end = inner
	if count := len(made.entries); count > 0 {
		made.end = made.entries[count-1].value.end
	}
	if made.flow {
		made.end, err = p.closing(inner, made.end, len(made.entries) == 0)
	}
	return made, err
}

func (p *page) members(n *yaml.Node, limit int, flow bool) ([]*entry, error) {
	var entries []*entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		stop := limit
		if i+2 < len(n.Content) {
			stop = p.offset(n.Content[i+2])
		}
		e := &entry{name: key.Value, merge: key.Tag == "!!merge", start: p.offset(key)}
		keyPart, err := p.part(key, stop, p.column(e.start), flow || key.Style == 0)
		if err != nil {
			return nil, err
		}
		e.colon = keyPart.end
		for e.colon < stop && p.text[e.colon] == ' ' {
			e.colon++
		}
		if e.colon >= stop || p.text[e.colon] != ':' {
			return nil, fmt.Errorf("%w (the key %q has no colon behind it)", ErrByHand, key.Value)
		}
		e.colon++
		if e.value, err = p.valueOf(value, e.colon, stop, p.column(e.start), flow); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func (p *page) elements(n *yaml.Node, start, limit int, flow bool) ([]*entry, error) {
	var entries []*entry
	column, at := p.column(start), start
	for i, element := range n.Content {
		e := &entry{}
		if flow {
			e.start = p.offset(element)
			e.colon = e.start
		} else {
			if i > 0 {
				at = p.nextDash(entries[i-1].value.end, column)
			}
			if at >= len(p.text) || p.text[at] != '-' {
				return nil, fmt.Errorf("%w (an element of a list has no dash before it)", ErrByHand)
			}
			e.start, e.colon = at, at+1
		}
		stop := limit
		if i+1 < len(n.Content) {
			stop = p.offset(n.Content[i+1])
		}
		var err error
		if e.value, err = p.valueOf(element, e.colon, stop, column, flow); err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// valueOf is the part of a value; one that isn't written at all is an empty part just
// behind its colon or dash.
func (p *page) valueOf(n *yaml.Node, colon, limit, indent int, flow bool) (*part, error) {
	if n.Kind == yaml.ScalarNode && n.Value == "" && n.Style == 0 && n.Tag == "!!null" && n.Anchor == "" {
		return &part{node: n, start: colon, end: colon, flow: flow}, nil
	}
	return p.part(n, limit, indent, flow)
}

// nextDash is the dash of a list's next element, which stands in the list's column.
func (p *page) nextDash(from, column int) int {
	for at := p.lineEnd(from) + 1; at < len(p.text); at = p.lineEnd(at) + 1 {
		line := p.text[at:p.lineEnd(at)]
		if len(line) > column && line[column] == '-' && len(bytes.TrimSpace(line[:column])) == 0 {
			return at + column
		}
	}
	return len(p.text)
}

// column is that of a place in its line, in bytes from 0.
func (p *page) column(at int) int { return at - p.lineStart(at) }

func (p *page) lineStart(at int) int { return bytes.LastIndexByte(p.text[:at], '\n') + 1 }

// lineEnd is where the line break begins, without the carriage return before it.
func (p *page) lineEnd(at int) int {
	end := len(p.text)
	if i := bytes.IndexByte(p.text[at:], '\n'); i >= 0 {
		end = at + i
	}
	return end
}

// eol is lineEnd before the line break of Windows.
func (p *page) eol(at int) int {
	end := p.lineEnd(at)
	if end > at && p.text[end-1] == '\r' {
		end--
	}
	return end
}

// behindProperties skips anchors and tags.
func (p *page) behindProperties(at, limit int) int {
	for at < limit && (p.text[at] == '&' || p.text[at] == '!') {
		for at < limit && !strings.ContainsRune(" \t\r\n", rune(p.text[at])) {
			at++
		}
		for at < limit && strings.ContainsRune(" \t\r\n", rune(p.text[at])) {
			at++
		}
	}
	return at
}
