// SPDX-License-Identifier: Apache-2.0

package progress

import (
	"fmt"
	"io"
	"os"
	"time"
)

const (
	redrawEvery = time.Second
	repeatEvery = 15 * time.Second
	clearLine   = "\r\x1b[K"
)

// Printer shows numbered steps: one line redrawn each second on a terminal,
// plain lines (start, every 15 seconds, end) anywhere else.
type Printer struct {
	out  io.Writer
	live bool
	now  func() time.Time
}

// New returns a Printer that writes to out. It redraws only if out is a
// terminal; now gives the time that elapsed times are measured with.
func New(out io.Writer, now func() time.Time) *Printer {
	return &Printer{out: out, live: isTerminal(out), now: now}
}

// Now returns the printer's time, for callers that report a total of their own.
func (p *Printer) Now() time.Time { return p.now() }

// Note prints one line between steps.
func (p *Printer) Note(format string, args ...any) {
	fmt.Fprintf(p.out, format+"\n", args...)
}

// Track runs work as step number step of total and returns its error.
func (p *Printer) Track(step, total int, label string, work func() error) error {
	start := p.now()
	head := fmt.Sprintf("[%d/%d] %s …", step, total, label)
	every := repeatEvery
	if p.live {
		every = redrawEvery
		fmt.Fprint(p.out, head)
	} else {
		fmt.Fprintln(p.out, head)
	}
	done := make(chan error, 1)
	go func() { done <- work() }()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			p.finish(head, p.now().Sub(start), err)
			return err
		case <-tick.C:
			p.repeat(head, p.now().Sub(start))
		}
	}
}

func (p *Printer) repeat(head string, elapsed time.Duration) {
	if p.live {
		fmt.Fprint(p.out, clearLine, head, " ", Elapsed(elapsed))
		return
	}
	fmt.Fprintln(p.out, head, Elapsed(elapsed), "so far")
}

func (p *Printer) finish(head string, elapsed time.Duration, err error) {
	end := "done in " + Elapsed(elapsed)
	if err != nil {
		end = "failed after " + Elapsed(elapsed)
	}
	if p.live {
		fmt.Fprint(p.out, clearLine)
	}
	fmt.Fprintln(p.out, head, end)
}

// Elapsed writes a duration as people read it: 0.4s, 12s, 1m03s.
func Elapsed(d time.Duration) string {
	switch {
	case d < 10*time.Second:
		return fmt.Sprintf("%.1fs", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	default:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
}

func isTerminal(out io.Writer) bool {
	file, ok := out.(*os.File)
	if !ok || os.Getenv("TERM") == "dumb" || os.Getenv("TERM") == "" {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
