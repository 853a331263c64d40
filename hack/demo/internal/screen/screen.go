// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"
)

const (
	indent       = "  "
	defaultWidth = 100
	// instant is what isn't worth a time: a comparison of what was read before.
	instant = 10 * time.Millisecond
)

// Screen is where the story is told. It is safe for concurrent use.
type Screen struct {
	out   io.Writer
	now   func() time.Time
	live  bool
	color bool
	width func() int

	mu    sync.Mutex
	drawn int // lines of the region on the terminal, which the next output replaces
	rows  []Row
}

// Row is a claim that held, for the summary.
type Row struct {
	Step   int
	Claim  string
	Figure string
	Took   time.Duration
}

// New returns a Screen on out. It redraws and colors only on a terminal; the
// variable NO_COLOR (https://no-color.org) turns colors off there, too.
func New(out *os.File, now func() time.Time) *Screen {
	fd := int(out.Fd())
	terminal := os.Getenv("TERM")
	live := term.IsTerminal(fd) && terminal != "" && terminal != "dumb"
	return &Screen{out: out, now: now, live: live, color: live && os.Getenv("NO_COLOR") == "", width: func() int {
		if width, _, err := term.GetSize(fd); err == nil && width > 0 {
			return width
		}
		return defaultWidth
	}}
}

// NewRecorded returns a Screen that writes as to a terminal of a fixed width, with colors and regions that redraw
// themselves, to both of them: as script(1) would have it.
func NewRecorded(out, recording io.Writer, width int, now func() time.Time) *Screen {
	return &Screen{out: io.MultiWriter(out, recording), now: now, live: true, color: true,
		width: func() int { return width }}
}

// Live says that regions redraw themselves.
func (s *Screen) Live() bool { return s.live }

// Step begins a step: its title, and what will be seen.
func (s *Screen) Step(number, total int, title, about string) {
	lines := []string{"", s.Bold(fmt.Sprintf("Step %d of %d: %s", number, total, title))}
	for line := range strings.Lines(about) {
		lines = append(lines, s.Dim(strings.TrimRight(line, "\n")))
	}
	s.print(lines...)
}

// Say prints text between claims.
func (s *Screen) Say(format string, args ...any) {
	s.print(indent + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n"+indent))
}

// Command prints a command as one would type it, and what it said.
func (s *Screen) Command(line, output string) {
	lines := []string{indent + s.Cyan("$ "+line)}
	for text := range strings.Lines(output) {
		lines = append(lines, indent+indent+strings.TrimRight(text, "\n"))
	}
	s.print(lines...)
}

// Claim prints a claim that was checked and holds, and keeps it for the summary.
func (s *Screen) Claim(row Row) {
	line := indent + s.Green("✓") + " " + row.Claim
	if row.Figure != "" {
		line += s.Dim(": ") + s.Bold(row.Figure)
	}
	if row.Took >= instant {
		line += s.Dim("  (" + Elapsed(row.Took) + ")")
	}
	s.print(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, row)
}

// Failed prints a claim that doesn't hold, and why.
func (s *Screen) Failed(claim string, reason error) {
	s.print(indent+s.Red("✗")+" "+claim, indent+indent+s.Red(reason.Error()))
}

// print puts lines below all that was printed, in place of the region.
func (s *Screen) print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintln(s.out, strings.Join(lines, "\n"))
}

// Draw replaces the region, the last lines on the terminal. Off a terminal it
// does nothing.
func (s *Screen) Draw(lines ...string) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	width := s.width()
	for _, line := range lines {
		fmt.Fprintln(s.out, clip(line, width-1))
	}
	s.drawn = len(lines)
}

// Leave leaves the region where it is; what follows is printed below it.
func (s *Screen) Leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.drawn = 0
}

func (s *Screen) erase() {
	if s.drawn > 0 {
		fmt.Fprintf(s.out, "\x1b[%dA\x1b[J", s.drawn)
	}
	s.drawn = 0
}

// clip cuts a line to at most width characters; escape sequences take no room.
func clip(line string, width int) string {
	var b strings.Builder
	shown, escape := 0, false
	for _, r := range line {
		switch {
		case r == '\x1b':
			escape = true
		case escape:
			escape = r != 'm'
		case shown >= width:
			continue // later escape sequences still count: they end colors
		default:
			shown++
		}
		b.WriteRune(r)
	}
	return b.String()
}
