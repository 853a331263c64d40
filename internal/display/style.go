// SPDX-License-Identifier: Apache-2.0

package display

import (
	"strings"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Style says how a drawing is made up.
type Style struct {
	// Color adds the terminal's colours (ECMA-48 SGR).
	Color bool
	// Width wraps lines at so many characters; 0 doesn't.
	Width int
}

// tone is what a part of the drawing means.
type tone string

const (
	plain tone = ""
	bold  tone = "1"
	good  tone = "32"
	bad   tone = "31"
	busy  tone = "33"
	faint tone = "2"
)

// paint colours a text.
func (s Style) paint(t tone, text string) string {
	if !s.Color || t == plain || text == "" {
		return text
	}
	return "\x1b[" + string(t) + "m" + text + "\x1b[0m"
}

// hanging is how much further than the line itself its further rows are indented, in characters.
const hanging = 4

// rows wraps a line that isn't coloured yet at the width: what says a cause or a remedy is never cut.
func (s Style) rows(line string) []string {
	if s.Width <= 1 {
		return []string{line}
	}
	indent := len(line) - len(strings.TrimLeft(line, " "))
	return prose.Wrap(line, s.Width, indent+hanging)
}

// bar shows a share as a bar of so many characters.
func bar(done, total int32, length int) string {
	full := 0
	if total > 0 {
		full = int(int64(done) * int64(length) / int64(total))
	}
	full = min(max(full, 0), length)
	return strings.Repeat("█", full) + strings.Repeat("░", length-full)
}

// mark is the sign of a tone.
func mark(t tone) string {
	switch t {
	case good:
		return "✔"
	case bad:
		return "✗"
	case busy:
		return "▶"
	case plain, bold, faint:
	}
	return "○"
}
