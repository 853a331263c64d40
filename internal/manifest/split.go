// SPDX-License-Identifier: Apache-2.0

package manifest

import "bytes"

// chunk is the text of one YAML document of a file, its "---" line included.
type chunk struct {
	text []byte
	// offset and line are where it begins, from 0 and from 1.
	offset, line int
}

// split cuts a file into its YAML documents. As in YAML, a line that begins with
// "---" begins a document and "..." ends one; neither can stand at the beginning
// of a line within a document.
func split(text []byte) []chunk {
	text, start := withoutMark(text)
	var chunks []chunk
	current := chunk{offset: start, line: 1}
	begin, line := 0, 1
	cut := func(end, next, nextLine int) {
		current.text = text[begin:end]
		if !blank(current.text) {
			chunks = append(chunks, current)
		}
		begin, current = next, chunk{offset: start + next, line: nextLine}
	}
	for at := 0; at < len(text); line++ {
		end := len(text)
		if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		switch {
		case marks(text[at:end], "---") && !onlyDirectives(text[begin:at]):
			cut(at, at, line)
		case marks(text[at:end], "..."):
			cut(at, end, line+1)
		}
		at = end
	}
	cut(len(text), len(text), line)
	return chunks
}

// withoutMark takes off the byte order mark that some editors write.
func withoutMark(text []byte) (rest []byte, taken int) {
	rest = bytes.TrimPrefix(text, []byte("\ufeff"))
	return rest, len(text) - len(rest)
}

func marks(line []byte, mark string) bool {
	rest, found := bytes.CutPrefix(line, []byte(mark))
	return found && (len(rest) == 0 || bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0)
}

// blank says that a text holds no document: only comments, and marks of documents.
func blank(text []byte) bool {
	for line := range bytes.Lines(text) {
		if rest, found := bytes.CutPrefix(line, []byte("---")); found && marks(line, "---") {
			line = rest
		}
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return false
		}
	}
	return true
}

// onlyDirectives says that a text belongs to the document whose "---" follows:
// it has directives (%YAML 1.2), and else comments at most.
func onlyDirectives(text []byte) bool {
	directives := false
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		switch {
		case len(line) == 0 || line[0] == '#':
		case line[0] == '%':
			directives = true
		default:
			return false
		}
	}
	return directives
}
