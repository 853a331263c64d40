// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// cronTime is a schedule in a form that is easily matched: every list is written
// out, and an empty one is "*".
type cronTime struct{ minutes, hours, days, weekdays []int }

func (c cronTime) String() string {
	field := func(list []int) string {
		text := ""
		for _, n := range list {
			text += fmt.Sprintf(",%d", n)
		}
		return max(text, ",*")[1:]
	}
	return fmt.Sprintf("%s %s %s * %s", field(c.minutes), field(c.hours), field(c.days), field(c.weekdays))
}

func (c cronTime) matches(wall time.Time) bool {
	in := func(list []int, n int) bool { return len(list) == 0 || slices.Contains(list, n) }
	day, weekday := in(c.days, wall.Day()), in(c.weekdays, int(wall.Weekday()))
	if len(c.days) > 0 && len(c.weekdays) > 0 { // cron's rule: either, when both are restricted
		day = slices.Contains(c.days, wall.Day()) || slices.Contains(c.weekdays, int(wall.Weekday()))
		weekday = day
	}
	return in(c.minutes, wall.Minute()) && in(c.hours, wall.Hour()) && day && weekday
}

// naive is what a clock of the zone shows, as if in UTC.
func naive(t time.Time, zone *time.Location) time.Time {
	l := t.In(zone)
	return time.Date(l.Year(), l.Month(), l.Day(), l.Hour(), l.Minute(), 0, 0, time.UTC)
}

// opened says whether a window has opened after since and until now, as found by
// looking at each minute's clock: it shows a time of the schedule for the first
// time, or has just jumped over one.
func (c cronTime) opened(since, now time.Time, zone *time.Location) bool {
	var latest time.Time // the latest time shown so far
	for at := since.Add(-24 * time.Hour); !at.After(now); at = at.Add(time.Minute) {
		shown := naive(at, zone)
		for wall := latest.Add(time.Minute); at.After(since) && !wall.After(shown); wall = wall.Add(time.Minute) {
			if c.matches(wall) {
				return true
			}
		}
		if shown.After(latest) {
			latest = shown
		}
	}
	return false
}

// The window is open at a minute if, and only if, it opened less than its
// duration ago, and none that denies did.
func TestWindowStateAgainstEveryMinute(t *testing.T) {
	zones := []string{"UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe",
		"America/Sao_Paulo"}
	around := []time.Time{ // where clocks change, months end and years begin
		time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC),
		time.Date(2026, 3, 8, 7, 0, 0, 0, time.UTC), time.Date(2026, 11, 1, 6, 0, 0, 0, time.UTC),
		time.Date(2026, 4, 4, 15, 0, 0, 0, time.UTC), time.Date(2026, 10, 3, 15, 30, 0, 0, time.UTC),
		time.Date(2018, 11, 4, 3, 0, 0, 0, time.UTC), time.Date(2018, 2, 18, 2, 0, 0, 0, time.UTC),
		time.Date(2028, 2, 29, 12, 0, 0, 0, time.UTC), time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC),
	}
	rapid.Check(t, func(t *rapid.T) {
		list := func(low, high, longest int, label string) []int {
			return rapid.SliceOfNDistinct(rapid.IntRange(low, high), 0, longest, rapid.ID[int]).Draw(t, label)
		}
		schedule := cronTime{minutes: list(0, 59, 3, "minutes"), hours: list(0, 6, 3, "hours"),
			days: list(1, 31, 6, "days"), weekdays: list(0, 6, 4, "weekdays")}
		name := rapid.SampledFrom(zones).Draw(t, "zone")
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		duration := time.Duration(rapid.IntRange(1, 300).Draw(t, "minutes long")) * time.Minute
		now := rapid.SampledFrom(around).Draw(t, "around").Add(
			time.Duration(rapid.IntRange(-6*60, 6*60).Draw(t, "minutes later")) * time.Minute)
		windows := []v1alpha1.PlannedWindow{window(schedule.String(), duration, name)}
		wanted := schedule.opened(now.Add(-duration), now, zone)
		if rapid.Bool().Draw(t, "denied for a while") {
			deny := cronTime{minutes: list(0, 59, 2, "denied minutes"), hours: list(0, 6, 2, "denied hours"),
				days: list(1, 31, 6, "denied days")}
			length := time.Duration(rapid.IntRange(1, 90).Draw(t, "minutes denied")) * time.Minute
			windows = append(windows, denied(window(deny.String(), length, name)))
			wanted = wanted && !deny.opened(now.Add(-length), now, zone)
		}

		got, err := canary.WindowState(windows, now)
		if err != nil {
			t.Fatalf("%s: %v", schedule, err)
		}
		if got.Open != wanted {
			t.Fatalf("%+v at %s: open is %t, want %t", windows, now.In(zone), got.Open, wanted)
		}
		if len(windows) > 1 && !got.Open && got.Opens.IsZero() {
			return // all that opens is denied, as far as is looked ahead
		}
		checkEdge(t, windows, got, now)
	})
}

// checkEdge holds Opens and Closes against the state at that very minute and at
// the minutes before it.
func checkEdge(t *rapid.T, windows []v1alpha1.PlannedWindow, got canary.Window, now time.Time) {
	edge := got.Opens
	if got.Open {
		edge = got.Closes
	}
	if edge.IsZero() || !edge.After(now) {
		t.Fatalf("the state changes at %s, not after %s", edge, now)
	}
	at := func(m time.Time) bool {
		w, err := canary.WindowState(windows, m)
		if err != nil {
			t.Fatal(err)
		}
		return w.Open
	}
	farther := edge.Sub(now) > 24*time.Hour // Closes isn't exact so far ahead
	if at(edge) == got.Open && !(got.Open && farther) {
		t.Fatalf("open is %t at %s, and still at %s", got.Open, now, edge)
	}
	for m := now; m.Before(edge) && m.Before(now.Add(3*time.Hour)); m = m.Add(time.Minute) {
		if at(m) != got.Open {
			t.Fatalf("open is %t at %s, but not at %s, before %s", got.Open, now, m, edge)
		}
	}
}
