// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The bounds of a maintenance window's duration.
const (
	minWindow = time.Minute
	maxWindow = 7 * 24 * time.Hour
)

// closesHorizon is how far ahead Window.Closes is looked for.
const closesHorizon = 24 * time.Hour

// Window says whether writes may begin, by the maintenance windows.
type Window struct {
	// Open says whether some window is open now, or whether there are none.
	Open bool
	// Opens is when the next window opens, while Open is false. Zero means not
	// within five years.
	Opens time.Time
	// Closes is when the windows that are open now, and those that join on to
	// them, have closed, while Open is true. When they go on for longer than a
	// day, it may be any time after that day. Zero means never: there are no
	// windows.
	Closes time.Time
}

// WindowState says whether a window is open at the time now.
//
// A window opens at each time of its schedule, read in its time zone, and stays
// open for its duration of elapsed time; its first instant is within it and its
// last isn't. A time that clocks put forward leave out opens the window at the
// instant they are put forward; a time that comes twice when clocks are put back
// opens it the first time only. Windows that overlap or touch join. No windows
// mean always open.
//
// A window that can't be read is an error, and nothing is open.
func WindowState(windows []v1alpha1.MaintenanceWindow, now time.Time) (Window, error) {
	if len(windows) == 0 {
		return Window{Open: true}, nil
	}
	recurring := make([]recurrence, 0, len(windows))
	for i, w := range windows {
		r, err := readWindow(w)
		if err != nil {
			return Window{}, fmt.Errorf("windows[%d]: %w", i, err)
		}
		recurring = append(recurring, r)
	}
	if closes := closesAfter(recurring, now); closes.After(now) {
		return Window{Open: true, Closes: closes.UTC()}, nil
	}
	return Window{Opens: nextOpening(recurring, now)}, nil
}

// closesAfter is the end of the joined windows that t lies in, or t in none.
func closesAfter(windows []recurrence, t time.Time) time.Time {
	for end := t; ; {
		further := end
		for _, w := range windows {
			if opened, found := w.latest(end); found && opened.Add(w.duration).After(further) {
				further = opened.Add(w.duration)
			}
		}
		if further.Equal(end) || further.Sub(t) > closesHorizon {
			return further
		}
		end = further
	}
}

// nextOpening is the first opening of any window after t.
func nextOpening(windows []recurrence, t time.Time) time.Time {
	var first time.Time
	for _, w := range windows {
		if opens := w.after(t); !opens.IsZero() && (first.IsZero() || opens.Before(first)) {
			first = opens
		}
	}
	return first.UTC()
}

// recurrence is a window that could be read.
type recurrence struct {
	schedule cron.Schedule
	zone     *time.Location
	duration time.Duration
}

// readWindow reads one window. The error gives the field within the window.
func readWindow(w v1alpha1.MaintenanceWindow) (recurrence, error) {
	schedule, err := readSchedule(w.Schedule)
	if err != nil {
		return recurrence{}, fmt.Errorf("schedule: %w", err)
	}
	if err := checkWindowDuration(w.Duration.Duration); err != nil {
		return recurrence{}, fmt.Errorf("duration: %w", err)
	}
	zone, err := readZone(w.TimeZone)
	if err != nil {
		return recurrence{}, fmt.Errorf("timeZone: %w", err)
	}
	return recurrence{schedule: schedule, zone: zone, duration: w.Duration.Duration}, nil
}

// readSchedule reads the five fields of cron. The zone prefix and the words
// ("@daily") that some dialects know are refused.
func readSchedule(text string) (cron.Schedule, error) {
	if strings.Contains(text, "=") {
		return nil, fmt.Errorf("%q: the zone of a window stands in timeZone", text)
	}
	parser := cron.NewParser(cron.Minute | cron.Hour | cron.Dom | cron.Month | cron.Dow)
	schedule, err := parser.Parse(text)
	if err != nil {
		return nil, fmt.Errorf(
			"%q can't be read as minute, hour, day of month, month and day of week (0 to 6, Sunday is 0): %w", text,
			err)
	}
	// Five years from here hold a 29 February.
	if schedule.Next(time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)).IsZero() {
		return nil, fmt.Errorf("%q names a time that never comes", text)
	}
	return schedule, nil
}

// readZone finds a zone by its IANA name; without one, UTC. "Local" would mean
// another zone on each machine.
func readZone(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err == nil && zone == time.Local {
		err = errors.New("it differs from machine to machine")
	}
	if err != nil {
		return nil, fmt.Errorf("%q isn't the IANA name of a time zone, such as Europe/Berlin: %w", name, err)
	}
	return zone, nil
}

func checkWindowDuration(d time.Duration) error {
	if d < minWindow || d > maxWindow {
		return fmt.Errorf("%s: must be from %s to %s", d, minWindow, maxWindow)
	}
	return nil
}

// latest is the latest opening at or before t whose window reaches to t or
// beyond. It looks back further and further, so that a schedule of every minute
// isn't walked through for a week.
func (r recurrence) latest(t time.Time) (opened time.Time, found bool) {
	for back := min(time.Hour, r.duration); !found; back = min(2*back, r.duration) {
		for wall := r.schedule.Next(r.wall(t.Add(-back)).Add(-time.Second)); !wall.IsZero(); wall = r.schedule.Next(
			wall) {
			opens := r.instant(wall)
			if opens.After(t) {
				break
			}
			opened, found = opens, true
		}
		if back == r.duration {
			break
		}
	}
	return opened, found
}

// after is the first opening after t; zero when there is none.
func (r recurrence) after(t time.Time) time.Time {
	for wall := r.schedule.Next(r.wall(t)); !wall.IsZero(); wall = r.schedule.Next(wall) {
		if opens := r.instant(wall); opens.After(t) {
			return opens
		}
	}
	return time.Time{}
}

// wall is what a clock of the window's zone shows at t, as if in UTC. The
// schedule is walked through on such times, which have no gaps and no
// repetitions, so that none of its times is lost or doubled.
func (r recurrence) wall(t time.Time) time.Time {
	t = t.In(r.zone)
	_, offset := t.Zone()
	return t.UTC().Add(time.Duration(offset) * time.Second)
}

// instant is when a clock of the window's zone shows wall for the first time;
// when it never does, the instant at which it is put forward past it. It never
// falls as wall grows.
func (r recurrence) instant(wall time.Time) time.Time {
	// No zone is a day and two hours away from UTC.
	for at := wall.Add(-26 * time.Hour).In(r.zone); ; {
		start, end := at.ZoneBounds()
		_, offset := at.Zone()
		t := wall.Add(-time.Duration(offset) * time.Second)
		if t.Before(start) {
			return start
		}
		if end.IsZero() || t.Before(end) {
			return t
		}
		at = end
	}
}
