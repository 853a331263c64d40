// SPDX-License-Identifier: Apache-2.0

package screen

import (
	"fmt"
	"sync/atomic"
	"time"
)

const (
	redrawEvery = 250 * time.Millisecond
	quietFor    = 2 * time.Second
	repeatEvery = 10 * time.Second
)

// Track runs work and shows its label, its latest detail and the time it has
// taken: as a line that redraws itself on a terminal; elsewhere as a line after
// two seconds and every ten. It returns the error of work and the time it took.
func (s *Screen) Track(label string, work func(detail func(string)) error) (time.Duration, error) {
	began := s.now()
	var latest atomic.Value
	latest.Store("")
	done := make(chan error, 1)
	go func() { done <- work(func(text string) { latest.Store(text) }) }()
	every, next := redrawEvery, quietFor
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case err := <-done:
			s.Draw()
			return s.now().Sub(began), err
		case <-tick.C:
			elapsed := s.now().Sub(began)
			line := progressLine(label, latest.Load().(string), elapsed)
			if s.live {
				s.Draw(indent + s.Yellow("…") + " " + line)
			} else if elapsed >= next {
				next = elapsed + repeatEvery
				s.Say("… %s", line)
			}
		}
	}
}

func progressLine(label, detail string, elapsed time.Duration) string {
	line := label + ", " + Elapsed(elapsed)
	if detail != "" {
		line += ": " + detail
	}
	return line
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
