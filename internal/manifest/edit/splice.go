// SPDX-License-Identifier: Apache-2.0

package edit

import (
	"bytes"
	"strings"

	"go.yaml.in/yaml/v3"
)

// replace writes a value in the place of another.
func (p *page) replace(e *entry, want any) (splice, error) {
	v := e.value
	switch {
	case e.root && !v.flow:
		text, err := p.style.block(want, 0)
		return splice{v.start, v.end, p.breaks(text)}, err
	case v.flow && !p.opensBlock(e):
		text, err := p.flowText(want, p.indentOf(e))
		if v.start == v.end && v.start == e.colon {
			text = " " + text
		}
		return splice{v.start, v.end, text}, err
	}
	return p.replaceBlock(e, want)
}

// replaceBlock writes a value behind a colon or dash of a block.
func (p *page) replaceBlock(e *entry, want any) (splice, error) {
	v := e.value
	text, err := p.blockValue(e, want)
	if err != nil {
		return splice{}, err
	}
	tail := "" // comments between the key and the value
	if lineStart := p.lineStart(v.start); v.block() && lineStart > e.colon {
		tail = strings.TrimRight(string(p.text[e.colon:lineStart]), "\r\n")
	}
	switch {
	case p.text[e.colon-1] == '-' || !strings.HasPrefix(text, "\n"):
		return splice{e.colon, v.end, text + tail}, nil
	case v.block():
		return splice{e.colon, v.end, p.breaks(tail + text)}, nil
	}
	// What stood behind the old value, a comment, stays in the key's line.
	end := p.eol(v.end)
	return splice{e.colon, end, p.breaks(string(p.text[v.end:end]) + text)}, nil
}

// opensBlock says that a value in brackets belongs to a block entry, so that another
// value may be written by indentation.
func (p *page) opensBlock(e *entry) bool {
	return !p.json && e.value.flow && e.value.node.Style&yaml.FlowStyle != 0 && !e.root &&
		!p.inBrackets(p.root, e, false)
}

// inBrackets says whether the entry lies within brackets of a part.
func (p *page) inBrackets(at *part, wanted *entry, within bool) bool {
	for _, e := range at.entries {
		if e == wanted {
			return within || at.flow
		}
		if e.start <= wanted.start && wanted.start < max(e.value.end, e.start+1) {
			return p.inBrackets(e.value, wanted, within || at.flow)
		}
	}
	return false
}

// blockValue is a value as it follows a colon or dash in a block.
func (p *page) blockValue(e *entry, want any) (string, error) {
	if text, isText := want.(string); isText && !strings.Contains(text, "\n") {
		if quotes := e.value.node.Style & (yaml.DoubleQuotedStyle | yaml.SingleQuotedStyle); quotes != 0 &&
			e.value.node.Kind == yaml.ScalarNode {
			written, err := p.style.encode(&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: text, Style: quotes})
			return " " + strings.TrimSuffix(written, "\n"), err
		}
	}
	if p.text[e.colon-1] == '-' {
		text, err := p.style.block([]any{want}, p.column(e.start))
		return p.breaks(strings.TrimPrefix(strings.TrimLeft(text, " "), "-")), err
	}
	text, err := p.style.block(map[string]any{"k": want}, p.column(e.start))
	return strings.TrimPrefix(strings.TrimLeft(text, " "), "k:"), err
}

// remove takes an entry away that isn't the only one.
func (p *page) remove(at *part, i int) splice {
	e := at.entries[i]
	last := i == len(at.entries)-1
	switch {
	case at.flow && last:
		return splice{at.entries[i-1].value.end, e.value.end, ""}
	case at.flow:
		return splice{e.start, at.entries[i+1].start, ""}
	}
	lineStart := p.lineStart(e.start)
	if len(bytes.TrimSpace(p.text[lineStart:e.start])) == 0 {
		return splice{lineStart, min(p.lineEnd(max(e.value.end, e.colon))+1, len(p.text)), ""}
	}
	// It stands behind a dash: the next one takes its place, comments between them stay.
	next := at.entries[i+1].start
	end := p.eol(max(e.value.end, e.colon))
	if bytes.Contains(p.text[min(end, next):next], []byte("#")) {
		return splice{e.start, end, ""}
	}
	return splice{e.start, next, ""}
}

// insert writes a collection of one entry before the entry i.
func (p *page) insert(at *part, i int, one any) (splice, error) {
	if at.flow {
		return p.insertFlow(at, i, one)
	}
	column := p.column(at.entries[0].start)
	text, err := p.style.block(one, column)
	if err != nil {
		return splice{}, err
	}
	if i == 0 {
		text = p.breaks(strings.TrimLeft(text, " ") + "\n" + strings.Repeat(" ", column))
		return splice{at.entries[0].start, at.entries[0].start, text}, nil
	}
	before := at.entries[i-1]
	end := p.eol(max(before.value.end, before.colon))
	return splice{end, end, p.breaks("\n" + text)}, nil
}

func (p *page) insertFlow(at *part, i int, one any) (splice, error) {
	first := at.entries[0]
	between, indent := " ", ""
	lineStart := p.lineStart(first.start)
	if lineStart > at.start && len(bytes.TrimSpace(p.text[lineStart:first.start])) == 0 {
		indent = string(p.text[lineStart:first.start])
		between = p.breaks("\n" + indent)
	} else if p.json && !bytes.Contains(p.text[at.start:at.end], []byte(", ")) &&
		!bytes.Contains(p.text[at.start:at.end], []byte(": ")) {
		between = ""
	}
	text, err := p.flowEntry(one, indent, between != "")
	if err != nil {
		return splice{}, err
	}
	if i == 0 {
		return splice{first.start, first.start, text + "," + between}, nil
	}
	end := at.entries[i-1].value.end
	return splice{end, end, "," + between + text}, nil
}

// flowEntry writes the one entry of a collection without its brackets.
func (p *page) flowEntry(one any, indent string, spaced bool) (string, error) {
	if !p.json {
		text, err := p.flowText(one, indent)
		if err != nil {
			return "", err
		}
		return unwrapped(text), nil
	}
	object, isMap := one.(map[string]any)
	if !isMap {
		return p.jsonText(one.([]any)[0], indent)
	}
	for key, value := range object {
		name, err := p.jsonText(key, "")
		if err != nil {
			return "", err
		}
		text, err := p.jsonText(value, indent)
		if spaced {
			text = " " + text
		}
		return name + ":" + text, err
	}
	return "", nil
}

// unwrapped takes the brackets of a collection away.
func unwrapped(text string) string { return strings.TrimSpace(text[1 : len(text)-1]) }

// indentOf is the white space before the line of an entry, in JSON.
func (p *page) indentOf(e *entry) string {
	line := p.text[p.lineStart(e.start):e.start]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// breaks writes line breaks as the text has them.
func (p *page) breaks(text string) string {
	if bytes.Contains(p.text, []byte("\r\n")) {
		return strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\n", "\r\n")
	}
	return text
}
