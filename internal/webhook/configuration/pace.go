// SPDX-License-Identifier: Apache-2.0

package configuration

import "time"

// How soon something is restored: at once, and then after a pause that doubles
// while others go on changing it.
const (
	firstPause = time.Second
	maxPause   = 5 * time.Minute
	// quiet is how long nothing must have been restored for the pauses to begin anew.
	quiet = 2 * maxPause
)

// pace bounds how often one thing is restored. The zero value is ready to use.
type pace struct {
	times int
	last  time.Time
}

// Wait is how long to wait until something may be restored; zero for now.
func (p *pace) Wait(now time.Time) time.Duration {
	if p.times == 0 || now.Sub(p.last) >= quiet {
		return 0
	}
	pause := maxPause
	if shift := p.times - 1; shift < 10 {
		pause = min(maxPause, firstPause<<shift)
	}
	return max(0, p.last.Add(pause).Sub(now))
}

// Restored notes that something was restored.
func (p *pace) Restored(now time.Time) {
	if now.Sub(p.last) >= quiet {
		p.times = 0
	}
	p.times++
	p.last = now
}
