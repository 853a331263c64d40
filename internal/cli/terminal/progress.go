// SPDX-License-Identifier: Apache-2.0

package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// progressAfter is how long work may take before its progress is told.
	progressAfter = 2 * time.Second
	// redrawEvery is how often a terminal's line is drawn anew, lineEvery how often
	// anything else gets a line.
	redrawEvery = 100 * time.Millisecond
	lineEvery   = 10 * time.Second
)

// Progress tells how far long work has come: a terminal sees one line that
// changes, anything else a line now and then.
type Progress struct {
	screen  *Screen
	began   time.Time
	told    time.Time
	started bool
}

// NewProgress begins to count time: what ends soon is never told of.
func NewProgress(out io.Writer) *Progress {
	return &Progress{screen: NewScreen(out), began: time.Now()}
}

// Tell shows a line, unless one was shown just before.
func (p *Progress) Tell(done, total int, text string) {
	now := time.Now()
	every := lineEvery
	if p.screen.Terminal {
		every = redrawEvery
	}
	if now.Sub(p.began) < progressAfter || now.Sub(p.told) < every {
		return
	}
	p.told, p.started = now, true
	line := text
	if p.screen.Terminal && total > 0 {
		const width = 24
		full := min(done*width/total, width)
		line = strings.Repeat("█", full) + strings.Repeat("░", width-full) + " " + text
	}
	// A line that can't be shown is no reason to stop the work.
	_ = p.screen.Draw([]string{line})
	if !p.screen.Terminal {
		p.screen.drawn = 0
	}
}

// End takes the line from a terminal.
func (p *Progress) End() {
	if p.started && p.screen.Terminal {
		fmt.Fprint(p.screen.Out, "\x1b[1A\x1b[J")
	}
}

// Count tells how much of some work is done, until stop is called. done is called
// after each part of it, by any goroutine.
func (p *Progress) Count(total int, noun string) (done, stop func()) {
	var finished atomic.Int64
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(redrawEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				p.End()
				return
			case <-ticks.C:
				n := int(finished.Load())
				p.Tell(n, total, fmt.Sprintf("%d of %d %s", n, total, noun))
			}
		}
	})
	return func() { finished.Add(1) }, func() { close(ended); watching.Wait() }
}
