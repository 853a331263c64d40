// SPDX-License-Identifier: Apache-2.0

// Package screen writes the demo's steps and claims as lines of text. It must never decide whether something holds.
// Start reading at [Screen].
package screen

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

const (
	indent = "  "
	// instant is too short to print: a comparison of what was read before.
	instant = 10 * time.Millisecond
)

// How long work is silent, and how often it reports after that.
const (
	quietFor    = 2 * time.Second
	repeatEvery = 10 * time.Second
)

// Screen prints the demo. It is safe for concurrent use.
type Screen struct {
	out io.Writer
	now func() time.Time

	mu   sync.Mutex
	rows []Row
}

// Row is a claim that held, for the summary.
type Row struct {
	Step   int
	Claim  string
	Figure string
	Took   time.Duration
}

func (r Row) took() string {
	if r.Took < instant {
		return ""
	}
	return Elapsed(r.Took)
}

// New returns a Screen on out.
func New(out io.Writer, now func() time.Time) *Screen { return &Screen{out: out, now: now} }

// Step begins a step: its title, and what will be seen.
func (s *Screen) Step(number, total int, title, about string) {
	s.print(fmt.Sprintf("\nStep %d of %d: %s\n%s", number, total, title, strings.TrimRight(about, "\n")))
}

// Say prints text between claims.
func (s *Screen) Say(format string, args ...any) {
	s.print(indent + strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", "\n"+indent))
}

// Command prints a command as one would type it, and its output.
func (s *Screen) Command(line, output string) {
	lines := []string{indent + "$ " + line}
	for text := range strings.Lines(output) {
		lines = append(lines, indent+indent+strings.TrimRight(text, "\n"))
	}
	s.print(lines...)
}

// Claim prints a claim that was checked and holds, and keeps it for the summary.
func (s *Screen) Claim(row Row) {
	line := indent + "✓ " + row.Claim
	if row.Figure != "" {
		line += ": " + row.Figure
	}
	if took := row.took(); took != "" {
		line += "  (" + took + ")"
	}
	s.print(line)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rows = append(s.rows, row)
}

// Failed prints a claim that doesn't hold, and why.
func (s *Screen) Failed(claim string, reason error) {
	s.print(indent+"✗ "+claim, indent+indent+reason.Error())
}

func (s *Screen) print(lines ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintln(s.out, strings.Join(lines, "\n"))
}

// Summary prints every claim that held, with its figure and the measured time.
func (s *Screen) Summary(total time.Duration) {
	s.mu.Lock()
	rows := s.rows
	s.mu.Unlock()
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nSTEP\tCLAIM, CHECKED AGAINST THE API SERVER\tFIGURE\tTIME")
	for _, r := range rows {
		fmt.Fprintf(table, "%d\t%s\t%s\t%s\n", r.Step, r.Claim, r.Figure, r.took())
	}
	_ = table.Flush() // a Builder never errs
	for line := range strings.Lines(text.String()) {
		s.print(strings.TrimRight(line, " \n"))
	}
	s.print("", fmt.Sprintf("All %d claims hold. It took %s.", len(rows), Elapsed(total)))
}

// Track runs work, and prints its label, its latest detail and its time after two seconds and every ten. It returns
// the error of work and the time it took.
func (s *Screen) Track(label string, work func(detail func(string)) error) (time.Duration, error) {
	began := s.now()
	var latest atomic.Value
	latest.Store("")
	done := make(chan error, 1)
	go func() { done <- work(func(text string) { latest.Store(": " + text) }) }()
	for wait := quietFor; ; wait = repeatEvery {
		select {
		case err := <-done:
			return s.now().Sub(began), err
		case <-time.After(wait):
			s.Say("… %s, %s%s", label, Elapsed(s.now().Sub(began)), latest.Load())
		}
	}
}

// Elapsed writes a duration as people read it: 40ms, 1.4s, 1m03s.
func Elapsed(d time.Duration) string {
	switch {
	case d < 100*time.Millisecond:
		return fmt.Sprintf("%dms", d.Milliseconds())
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}
