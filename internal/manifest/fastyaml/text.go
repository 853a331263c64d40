// SPDX-License-Identifier: Apache-2.0

package fastyaml

import "strings"

// isItem says that a line is an element of a list.
func isItem(text string) bool { return text[0] == '-' && (len(text) == 1 || text[1] == ' ') }

func trimLeft(text string) string { return strings.TrimLeft(text, " ") }

// ends says that nothing but a comment follows on the line.
func ends(rest string) bool {
	trimmed := trimLeft(rest)
	return trimmed == "" || trimmed[0] == '#' && len(trimmed) < len(rest)
}

// plainKey splits a line into a key and what follows its colon. It knows keys of
// letters, digits and "._/-" that can only be text, and simple quoted ones.
func plainKey(text string) (key, rest string, ok bool) {
	key, end, ok := plainKeyText(text)
	// Beyond 1024 characters a colon makes no key any more.
	if !ok || end > 1000 || end == len(text) || text[end] != ':' {
		return "", "", false
	}
	rest = text[end+1:]
	return key, rest, rest == "" || rest[0] == ' '
}

// plainKeyText reads a key; end is the offset behind it.
func plainKeyText(text string) (key string, end int, ok bool) {
	if text == "" {
		return "", 0, false
	}
	if text[0] == '"' || text[0] == '\'' {
		key, end, ok = plainQuoted(text)
		return key, end, ok && key != "<<"
	}
	for end < len(text) && isKeyCharacter(text[end]) {
		end++
	}
	key = text[:end]
	return key, end, end > 0 && isLetter(key[0]) && !isWord(key)
}

func isLetter(c byte) bool { return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isKeyCharacter(c byte) bool {
	return isLetter(c) || isDigit(c) || c == '.' || c == '_' || c == '/' || c == '-'
}

// plainQuoted reads a quoted text of one line without escapes; end is the offset
// behind it.
func plainQuoted(text string) (value string, end int, ok bool) {
	quote := text[0]
	length := strings.IndexByte(text[1:], quote)
	if length < 0 {
		return "", 0, false
	}
	value, end = text[1:length+1], length+2
	escapes := quote == '"' && strings.IndexByte(value, '\\') >= 0 || quote == '\'' && end < len(text) &&
		text[end] == quote
	return value, end, !escapes && strings.IndexByte(value, '\t') < 0
}

// literal reads a text that "|" begins, whose lines are indented deeper.
func (p *plainReader) literal(header string, indent int) (any, bool) {
	if header = strings.TrimRight(header, " "); header != "|" && header != "|-" {
		return nil, false
	}
	text := literalText{indent: indent, deeper: -1}
	next := endOfLine(p.text, p.lines[p.at].start) + 1
	for next < len(p.text) {
		end := endOfLine(p.text, next)
		if end == len(p.text) {
			return nil, false // how the last line ends would count
		}
		more, ok := text.add(p.text[next:end])
		if !ok {
			return nil, false
		}
		if !more {
			break
		}
		next = end + 1
	}
	for p.at++; p.at < len(p.lines) && p.lines[p.at].start < next; {
		p.at++
	}
	value := strings.TrimRight(text.value.String(), "\n")
	if header == "|" {
		value += "\n"
	}
	return value, text.deeper >= 0
}

// literalText gathers the lines of a literal text.
type literalText struct {
	value strings.Builder
	// indent is that of the text's mapping or list, deeper that of its lines; -1
	// before the first.
	indent, deeper int
}

// add takes a line; more is false when the text has ended before it.
func (t *literalText) add(line string) (more, ok bool) {
	spaces := 0
	for spaces < len(line) && line[spaces] == ' ' {
		spaces++
	}
	blank := spaces == len(line)
	if t.deeper < 0 {
		if blank || spaces <= t.indent || line[spaces] == '\t' {
			return false, false
		}
		t.deeper = spaces
	}
	switch {
	case blank && spaces > t.deeper:
		return false, false
	case blank:
		line = ""
	case spaces < t.deeper:
		return false, spaces <= t.indent
	default:
		line = line[t.deeper:]
	}
	t.value.WriteString(line)
	t.value.WriteByte('\n')
	return true, true
}
