// SPDX-License-Identifier: Apache-2.0

package prose

import "strings"

// Wrap gives a line as rows of at most width characters, all but the first indented by so
// many. It breaks at spaces; a word that is longer than a row is broken where the row ends,
// so that nothing is lost. A width below 1 wraps nothing, and no more than half of it is
// indentation.
func Wrap(line string, width, indent int) []string {
	rest := []rune(line)
	if width < 1 {
		return []string{line}
	}
	var rows []string
	margin := strings.Repeat(" ", min(max(indent, 0), width/2))
	for before, room := "", width; ; before, room = margin, width-len(margin) {
		if len(rest) <= room {
			return append(rows, before+string(rest))
		}
		at := breakAt(rest[:room+1])
		rows = append(rows, before+strings.TrimRight(string(rest[:at]), " "))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
	}
}

// breakAt is the last space behind a word, of what is one character longer than a row; the
// row's end when there is none.
func breakAt(text []rune) int {
	first := 0
	for first < len(text) && text[first] == ' ' {
		first++
	}
	for at := len(text) - 1; at > first; at-- {
		if text[at] == ' ' {
			return at
		}
	}
	return len(text) - 1
}
