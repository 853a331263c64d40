// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// maxOpenings bounds how many openings OpenFor goes through, those of windows that it follows to the next included.
const maxOpenings = 2000

// OpenFor is when maintenance windows have been open for so long in all since a
// time: the time that a plan had for its work. Without windows, and with one that
// can't be read, all time counts. Zero means never.
func OpenFor(windows []v1alpha1.PlannedWindow, since time.Time, d time.Duration) time.Time {
	at, left := since, d
	c, err := readWindows(windows)
	if err != nil {
		return at.Add(left)
	}
	for steps := maxOpenings; steps > 0; steps-- {
		switch w := c.state(at, &steps); {
		case w.Open && w.Closes.IsZero():
			return at.Add(left)
		case w.Open && w.Closes.Sub(at) >= left:
			return at.Add(left)
		case w.Open:
			left -= w.Closes.Sub(at)
			at = w.Closes
		case w.Opens.IsZero():
			return time.Time{}
		default:
			at = w.Opens
		}
	}
	return at.Add(left)
}
