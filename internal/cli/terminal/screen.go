// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"evenkeel.dev/evenkeel/internal/display"
)

// Screen is where a drawing goes: a terminal is drawn over, anything else gets
// lines.
type Screen struct {
	Out      io.Writer
	Terminal bool
	Style    display.Style
	Height   int
	drawn    int
}

// NewScreen looks at what is drawn on.
func NewScreen(out io.Writer) *Screen {
	s := &Screen{Out: out}
	file, isFile := out.(descriptor)
	if !isFile || !term.IsTerminal(int(file.Fd())) {
		return s
	}
	s.Terminal = true
	s.Style.Color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
	if width, height, err := term.GetSize(int(file.Fd())); err == nil {
		s.Style.Width, s.Height = width, height
	}
	return s
}

// Draw puts lines in the place of those drawn before, and as many as the terminal is high:
// the next drawing takes their place.
func (s *Screen) Draw(lines []string) error {
	if s.Height > 2 && len(lines) > s.Height-1 {
		lines = append(lines[:s.Height-2:s.Height-2], "…")
	}
	return s.Print(lines)
}

// Print puts all lines in the place of those drawn before: nothing is to follow them.
func (s *Screen) Print(lines []string) error {
	text := ""
	if s.drawn > 0 {
		text = fmt.Sprintf("\x1b[%dA\x1b[J", s.drawn)
	}
	for _, line := range lines {
		text += line + "\n"
	}
	s.drawn = len(lines)
	_, err := io.WriteString(s.Out, text)
	return err
}
