// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// OneLine makes text that anybody may have written fit a line, a header, a terminal and the log of a CI system: control
// characters, and those that turn the direction of writing around, become spaces, and what is a command wherever it
// stands in a line is parted by one.
func OneLine(text string) string {
	return parted(strings.Map(func(r rune) rune {
		if hidden(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, text))
}

// Shown is a text that anybody may have written, such as the name of a file, on one line: quoted where it would begin
// another, do something to a terminal, or be a command where a line begins with it.
func Shown(text string) string {
	if strings.ContainsFunc(text, hidden) || BeginsCommand(text) {
		text = strconv.Quote(text)
	}
	return parted(text)
}

// Lines is OneLine of each line of a text, between its tabs, and Shown where one would be a command.
func Lines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if BeginsCommand(line) {
			lines[i] = Shown(line)
			continue
		}
		cells := strings.Split(line, "\t")
		for j, cell := range cells {
			cells[j] = OneLine(cell)
		}
		lines[i] = strings.Join(cells, "\t")
	}
	return strings.Join(lines, "\n")
}

// JSON is JSON in whose texts nothing is a command wherever it stands in a line, and nothing hidden: both are escaped,
// which says the same.
func JSON(text []byte) []byte {
	var out bytes.Buffer
	for _, r := range string(regexp.MustCompile(`##([a-zA-Z]*\[)`).ReplaceAll(text, []byte(`#\u0023$1`))) {
		if r >= 0x7f && hidden(r) { // those before stand between values, or are escaped
			fmt.Fprintf(&out, `\u%04x`, r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

// hidden says that a rune isn't seen: a control character, or one that turns the direction of text.
func hidden(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }

// BeginsCommand says that GitHub's runner takes a line that begins so for a command: it skips the spaces before it
// (actions/runner, ActionCommand.TryParseV2).
func BeginsCommand(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), "::") }

// parted is a text without commands to a CI system that count wherever they stand in a line: ##[NAME of GitHub's runner
// (ActionCommand.TryParse), ##vso[ of Azure Pipelines, ##teamcity[ of TeamCity.
func parted(text string) string {
	const mark = "##"
	if !strings.Contains(text, mark) {
		return text
	}
	var out strings.Builder
	for {
		i := strings.Index(text, mark)
		if i < 0 {
			break
		}
		end := i + len(mark)
		for end < len(text) && (text[end]|' ' >= 'a' && text[end]|' ' <= 'z' || text[end] == '#') {
			end++
		}
		out.WriteString(text[:end])
		if text = text[end:]; strings.HasPrefix(text, "[") {
			out.WriteByte(' ')
		}
	}
	return out.String() + text
}
