// SPDX-License-Identifier: Apache-2.0

package recording

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"
	"time"
)

// The picture's measures, in pixels but for rows.
const (
	rows      = 32
	lineStep  = 17
	charWidth = 7.83 // of a monospace font at fontSize
	fontSize  = 13
	margin    = 14
)

// The times of the play: nobody watches a build, and everybody wants to read.
const (
	longestPause = 1500 * time.Millisecond
	// perLine is for reading: what comes at once comes line by line.
	perLine = 120 * time.Millisecond
	// hold is how long the last lines stay before it begins anew.
	hold = 6 * time.Second
)

// colors are those of terminals by their numbers, as CSS.
func colors() []struct{ number, css string } {
	return []struct{ number, css string }{
		{"1", "font-weight:bold"},
		{"2", "opacity:.6"},
		{"31", "fill:#ff7b72"},
		{"32", "fill:#7ee787"},
		{"33", "fill:#e3b341"},
		{"36", "fill:#79c0ff"},
	}
}

// WriteSVG draws what was recorded until now: a window of a terminal in which the lines scroll by. Where nothing
// moves (a reader asked for that, or the viewer can't), it shows the last lines. title is what is read aloud.
func (r *Recording) WriteSVG(w io.Writer, title string) error {
	r.mu.Lock()
	lines := append([]line(nil), r.lines...)
	r.mu.Unlock()
	var b strings.Builder
	width, height := int(float64(r.columns)*charWidth)+2*margin, rows*lineStep+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img">`+"\n<title>%s</title>\n",
		width, height, escape(title))
	writeStyle(&b, lines)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" rx="8" fill="#0d1117"/>`+"\n", width, height)
	fmt.Fprintf(&b, `<svg x="%d" y="%d" width="%d" height="%d"><g class="play" xml:space="preserve">`+"\n", margin,
		margin, width-2*margin, rows*lineStep)
	for i, l := range lines {
		writeLine(&b, l, (i+1)*lineStep-4)
	}
	b.WriteString("</g></svg>\n</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func writeLine(b *strings.Builder, l line, y int) {
	if len(l.spans) == 0 {
		return
	}
	fmt.Fprintf(b, `<text y="%d">`, y)
	for _, s := range l.spans {
		if s.style == "" {
			b.WriteString(escape(s.text))
			continue
		}
		fmt.Fprintf(b, `<tspan class="c%s">%s</tspan>`, escape(s.style), escape(s.text))
	}
	b.WriteString("</text>\n")
}

// writeStyle writes the colors, and the play as the places that all lines together take one after the other.
func writeStyle(b *strings.Builder, lines []line) {
	fmt.Fprintf(b, "<style>\ntext{font:%dpx ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans "+
		"Mono',monospace;fill:#e6edf3;white-space:pre}\n", fontSize)
	for _, c := range colors() {
		fmt.Fprintf(b, ".c%s{%s}\n", c.number, c.css)
	}
	shown, total := times(lines)
	fmt.Fprintf(b, ".play{transform:translateY(%dpx);animation:play %.1fs step-end infinite}\n", place(len(lines)),
		total.Seconds())
	fmt.Fprintf(b, "@keyframes play{0%%{transform:translateY(%dpx)}\n", place(0))
	for i, at := range shown {
		fmt.Fprintf(b, "%.2f%%{transform:translateY(%dpx)}\n", 100*at.Seconds()/total.Seconds(), place(i+1))
	}
	b.WriteString("}\n@media (prefers-reduced-motion:reduce){.play{animation:none}}\n</style>\n")
}

// place is where the lines stand when the first n are seen, the last of them at the bottom.
func place(n int) int { return (rows - n) * lineStep }

// times are when each line is shown, and how long all of it takes.
func times(lines []line) ([]time.Duration, time.Duration) {
	shown := make([]time.Duration, len(lines))
	at := time.Duration(0)
	for i, l := range lines {
		pause := perLine
		if i > 0 {
			pause = min(longestPause, max(perLine, l.at.Sub(lines[i-1].at)))
		}
		at += pause
		shown[i] = at
	}
	return shown, at + hold
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	return b.String()
}
