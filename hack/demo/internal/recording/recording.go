// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Recording is a terminal's memory: an io.Writer that keeps each line with its colors and the time at which it
// came. Of lines that were drawn over it keeps the last state. It is safe for concurrent use.
type Recording struct {
	now     func() time.Time
	columns int

	mu    sync.Mutex
	lines []line
	rest  []byte // a line that hasn't ended yet
}

// line is what stands in one line, from its left edge.
type line struct {
	at    time.Time
	spans []span
}

// span is text of one style: the number of the color as terminals have it, or nothing.
type span struct {
	style, text string
}

// Columns is the width of a recorded terminal, in characters: what the demo prints fits it, mostly.
const Columns = 110

// New returns a Recording that asks now for the time of each line.
func New(now func() time.Time) *Recording {
	return &Recording{now: now, columns: Columns}
}

// redraw is how a screen goes back over lines that it draws anew.
var redraw = regexp.MustCompile(`^\x1b\[(\d+)A\x1b\[J`)

// Write takes whole lines and keeps the rest for the next call. It never errs.
func (r *Recording) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rest = append(r.rest, p...)
	for {
		if up := redraw.FindSubmatch(r.rest); up != nil {
			n, _ := strconv.Atoi(string(up[1])) // digits, by the pattern
			r.lines = r.lines[:max(0, len(r.lines)-n)]
			r.rest = r.rest[len(up[0]):]
			continue
		}
		text, rest, ended := bytes.Cut(r.rest, []byte("\n"))
		if !ended {
			return len(p), nil
		}
		at := r.now()
		for _, spans := range wrap(styled(string(text)), r.columns) {
			r.lines = append(r.lines, line{at: at, spans: spans})
		}
		r.rest = rest
	}
}

// style is an escape sequence that sets a color, or ends it.
var style = regexp.MustCompile(`\x1b\[(\d*)m`)

// styled are the spans of a line. What is no character to be shown is left out.
func styled(text string) []span {
	var spans []span
	current := ""
	add := func(text string) {
		text = strings.Map(func(c rune) rune {
			if c < ' ' || c == utf8.RuneError || c == 0x7f {
				return -1
			}
			return c
		}, text)
		if text != "" {
			spans = append(spans, span{current, text})
		}
	}
	for {
		at := style.FindStringSubmatchIndex(text)
		if at == nil {
			add(text)
			return spans
		}
		add(text[:at[0]])
		if current = text[at[2]:at[3]]; current == "0" {
			current = ""
		}
		text = text[at[1]:]
	}
}

// wrap breaks a line as a terminal does: at its width, wherever that is. An empty line stays one.
func wrap(spans []span, width int) [][]span {
	lines, room := [][]span{nil}, width
	for _, s := range spans {
		for rest := []rune(s.text); len(rest) > 0; {
			if room == 0 {
				lines, room = append(lines, nil), width
			}
			n := min(room, len(rest))
			lines[len(lines)-1] = append(lines[len(lines)-1], span{s.style, string(rest[:n])})
			rest, room = rest[n:], room-n
		}
	}
	return lines
}
