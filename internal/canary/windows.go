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

// maxJoined bounds how many windows are followed to find when writes may begin again: days or months of what
// people write, and no time of anybody's for windows of a minute each that deny for ever.
const maxJoined = 500

// Window says whether writes may begin, by the maintenance windows.
type Window struct {
	// Open says whether some window is open now, or whether there are none, and none of kind Deny is.
	Open bool
	// Opens is when writes may begin next, while Open is false. Zero means not within five years, nor
	// before so many windows have come and gone that nobody will wait for it.
	Opens time.Time
	// Closes is when the windows that are open now, and those that join on to
	// them, have closed, or when one of kind Deny begins, while Open is true. When they go on for longer than a
	// day, it may be any time after that day. Zero means never.
	Closes time.Time
}

// WindowState says whether a window is open at the time now.
//
// A window opens at each time of its schedule, read in its time zone, and stays
// open for its duration of elapsed time; its first instant is within it and its
// last isn't. A time that clocks put forward leave out opens the window at the
// instant they are put forward; a time that comes twice when clocks are put back
// opens it the first time only. Windows that overlap or touch join. No windows
// of kind Allow mean always open. While one of kind Deny lasts, nothing is open.
//
// A window that can't be read is an error, and nothing is open.
func WindowState(windows []v1alpha1.PlannedWindow, now time.Time) (Window, error) {
	c, err := readWindows(windows)
	if err != nil {
		return Window{}, err
	}
	steps := maxJoined
	return c.state(now, &steps), nil
}

// readWindows reads the windows of a strategy. The error gives the one that can't be read.
func readWindows(windows []v1alpha1.PlannedWindow) (c calendar, err error) {
	for i, w := range windows {
		r, err := readWindow(w)
		if err != nil {
			return calendar{}, fmt.Errorf("windows[%d]: %w", i, err)
		}
		if w.Kind == v1alpha1.WindowDeny {
			c.deny = append(c.deny, r)
		} else {
			c.allow = append(c.allow, r)
		}
	}
	return c, nil
}

// calendar are the windows of a strategy that could be read, by kind.
type calendar struct{ allow, deny []recurrence }

// state says whether writes may begin at a time, and takes the steps that it follows windows for from those left.
func (c calendar) state(now time.Time, steps *int) Window {
	if !c.open(now) {
		return Window{Opens: c.opens(now, steps)}
	}
	state := Window{Open: true}
	if len(c.allow) > 0 {
		state.Closes = closesAfter(c.allow, now).UTC()
	}
	if denied := nextOpening(c.deny, now); !denied.IsZero() && (state.Closes.IsZero() || denied.Before(state.Closes)) {
		state.Closes = denied
	}
	return state
}

// open says whether writes may begin at t.
func (c calendar) open(t time.Time) bool {
	return !endOf(c.deny, t).After(t) && (len(c.allow) == 0 || endOf(c.allow, t).After(t))
}

// opens is the first time from t on at which writes may begin; zero when there is none within bounds.
func (c calendar) opens(t time.Time, steps *int) time.Time {
	for ; *steps > 0; *steps-- {
		denied := endOf(c.deny, t)
		switch {
		case denied.After(t):
			t = denied
		case len(c.allow) == 0 || endOf(c.allow, t).After(t):
			return t.UTC()
		default:
			if t = nextOpening(c.allow, t); t.IsZero() {
				return t
			}
		}
	}
	return time.Time{}
}

// closesAfter is the end of the joined windows that t lies in, or t in none.
func closesAfter(windows []recurrence, t time.Time) time.Time {
	for end := t; ; {
		further := endOf(windows, end)
		if further.Equal(end) || further.Sub(t) > closesHorizon {
			return further
		}
		end = further
	}
}

// endOf is the last end of the windows that t lies in, or t in none.
func endOf(windows []recurrence, t time.Time) time.Time {
	end := t
	for _, w := range windows {
		if opened, found := w.latest(t); found && opened.Add(w.duration).After(end) {
			end = opened.Add(w.duration)
		}
	}
	return end
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
func readWindow(w v1alpha1.PlannedWindow) (recurrence, error) {
	if err := checkWindowKind(w.Kind); err != nil {
		return recurrence{}, fmt.Errorf("kind: %w", err)
	}
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

func checkWindowKind(kind v1alpha1.WindowKind) error {
	if kind != "" && kind != v1alpha1.WindowAllow && kind != v1alpha1.WindowDeny {
		return fmt.Errorf("%q: must be %s or %s", kind, v1alpha1.WindowAllow, v1alpha1.WindowDeny)
	}
	return nil
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
