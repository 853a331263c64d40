package main

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

// progress tells how far long work has come: a terminal sees one line that
// changes, anything else a line now and then.
type progress struct {
	screen  *screen
	began   time.Time
	told    time.Time
	started bool
}

func newProgress(out io.Writer) *progress {
	return &progress{screen: newScreen(out), began: time.Now()}
}

// tell shows a line, unless one was shown just before.
func (p *progress) tell(done, total int, text string) {
	now := time.Now()
	every := lineEvery
	if p.screen.terminal {
		every = redrawEvery
	}
	if now.Sub(p.began) < progressAfter || now.Sub(p.told) < every {
		return
	}
	p.told, p.started = now, true
	line := text
	if p.screen.terminal && total > 0 {
		const width = 24
		full := min(done*width/total, width)
		line = strings.Repeat("█", full) + strings.Repeat("░", width-full) + " " + text
	}
	// A line that can't be shown is no reason to stop the work.
	_ = p.screen.draw([]string{line})
	if !p.screen.terminal {
		p.screen.drawn = 0
	}
}

// end takes the line from a terminal.
func (p *progress) end() {
	if p.started && p.screen.terminal {
		fmt.Fprint(p.screen.out, "\x1b[1A\x1b[J")
	}
}

// count tells how much of some work is done, until stop is called. done is called
// after each part of it, by any goroutine.
func (p *progress) count(total int, noun string) (done, stop func()) {
	var finished atomic.Int64
	ended := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() {
		ticks := time.NewTicker(redrawEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ended:
				p.end()
				return
			case <-ticks.C:
				n := int(finished.Load())
				p.tell(n, total, fmt.Sprintf("%d of %d %s", n, total, noun))
			}
		}
	})
	return func() { finished.Add(1) }, func() { close(ended); watching.Wait() }
}
