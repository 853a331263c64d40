// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"unicode/utf8"
)

// ellipsis ends what was cut.
const ellipsis = "…"

// Shorten cuts text to at most limit bytes, between characters. The result shares no
// memory with a text that was cut. It is for what counts in bytes: events, headers,
// memory. A limit too small for the mark that text was cut leaves as many whole
// characters as fit.
func Shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	mark := ellipsis
	if limit < len(mark) {
		mark = ""
	}
	return text[:edge(text, limit-len(mark))] + mark
}

// edge is where the last character ends that fits into so many bytes.
func edge(text string, most int) int {
	at := max(most, 0)
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return at
}

// ShortenCharacters cuts text to at most limit characters, as the schemas of
// Kubernetes' API and a terminal count them.
func ShortenCharacters(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	if limit <= 0 {
		return ""
	}
	return string([]rune(text)[:limit-1]) + ellipsis
}

// mostLines is more than any text has that is shortened.
const mostLines = 9_999_999

// ShortenLines cuts text to at most limit bytes, at the end of a line, and says in a line of its own how many lines are
// left out. A limit that has no room for that line cuts as Shorten does.
func ShortenLines(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	room := limit - len(linesLeft(mostLines))
	if room < 0 {
		return Shorten(text, limit)
	}
	kept := strings.LastIndexByte(text[:room], '\n') + 1
	left := text[kept:]
	return text[:kept] + linesLeft(strings.Count(strings.TrimSuffix(left, "\n"), "\n")+1)
}

func linesLeft(n int) string { return ellipsis + " cut here: " + Count(n, "more line") + "\n" }
