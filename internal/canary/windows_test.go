// SPDX-License-Identifier: Apache-2.0

package canary_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func window(schedule string, duration time.Duration, zone string) v1alpha1.PlannedWindow {
	return v1alpha1.PlannedWindow{Schedule: schedule, Duration: metav1.Duration{Duration: duration}, TimeZone: zone}
}

// denied makes a window one of kind Deny.
func denied(w v1alpha1.PlannedWindow) v1alpha1.PlannedWindow {
	w.Kind = v1alpha1.WindowDeny
	return w
}

func instant(t *testing.T, text string) time.Time {
	t.Helper()
	if text == "" {
		return time.Time{}
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestWindowState(t *testing.T) {
	type windows = []v1alpha1.PlannedWindow
	nights := windows{window("0 22 * * 1-5", 8*time.Hour, "Europe/Berlin")}
	cases := map[string]struct {
		reason        string
		windows       windows
		now           string
		opens, closes string // closes set: open
		open          bool
	}{
		"No windows are always open": {reason: "none means always", now: "2026-11-21T05:00:00Z", open: true},
		"Before its time a window is closed": {
			reason: "22:00 in Berlin is 21:00 UTC in winter", windows: nights,
			now: "2026-11-20T21:59:59+01:00", opens: "2026-11-20T21:00:00Z",
		},
		"Its first instant is within": {
			reason: "it opens at 22:00", windows: nights,
			now: "2026-11-20T22:00:00+01:00", open: true, closes: "2026-11-21T06:00:00+01:00",
		},
		"A window crosses midnight": {
			reason: "Friday's night goes on on Saturday, which the schedule doesn't name", windows: nights,
			now: "2026-11-21T05:59:59+01:00", open: true, closes: "2026-11-21T06:00:00+01:00",
		},
		"Its last instant isn't within": {
			reason: "8 h have passed; the next is Monday's", windows: nights,
			now: "2026-11-21T06:00:00+01:00", opens: "2026-11-23T22:00:00+01:00",
		},
		"A window crosses the end of a year": {
			reason: "two days from 31 December", windows: windows{window("0 12 31 12 *", 48*time.Hour, "UTC")},
			now: "2027-01-02T11:00:00Z", open: true, closes: "2027-01-02T12:00:00Z",
		},
		"The 31st skips short months": {
			reason: "after 31 March comes 31 May", windows: windows{window("0 3 31 * *", time.Hour, "UTC")},
			now: "2026-03-31T04:00:00Z", opens: "2026-05-31T03:00:00Z",
		},
		"The 29th of February waits for a leap year": {
			reason: "2028 is the next", windows: windows{window("0 3 29 2 *", time.Hour, "UTC")},
			now: "2026-02-28T12:00:00Z", opens: "2028-02-29T03:00:00Z",
		},
		"A window of 29 February reaches into March": {
			reason:  "36 h from 29 February 20:00",
			windows: windows{window("0 20 29 2 *", 36*time.Hour, "America/New_York")},
			now:     "2028-03-02T07:59:00-05:00", open: true, closes: "2028-03-02T08:00:00-05:00",
		},
		"A zone off by half an hour": {
			reason:  "01:15 in Kolkata is 19:45 UTC the day before",
			windows: windows{window("15 1 * * *", 30*time.Minute, "Asia/Kolkata")},
			now:     "2026-11-20T19:45:00Z", open: true, closes: "2026-11-20T20:15:00Z",
		},
		"No zone is UTC": {
			reason: "the default", windows: windows{window("0 4 * * *", time.Hour, "")},
			now: "2026-11-21T03:00:00Z", opens: "2026-11-21T04:00:00Z",
		},

		"A time that clocks leave out opens when they are put forward": {
			reason:  "02:30 isn't there on 29 March in Berlin: the window opens at 03:00",
			windows: windows{window("30 2 * * *", time.Hour, "Europe/Berlin")},
			now:     "2026-03-29T01:59:59+01:00", opens: "2026-03-29T03:00:00+02:00",
		},
		"And stays open for its duration": {
			reason: "an hour from 03:00", windows: windows{window("30 2 * * *", time.Hour, "Europe/Berlin")},
			now: "2026-03-29T03:59:59+02:00", open: true, closes: "2026-03-29T04:00:00+02:00",
		},
		"And opens no second time that day": {
			reason: "the next is tomorrow's", windows: windows{window("30 2 * * *", time.Hour, "Europe/Berlin")},
			now: "2026-03-29T04:00:00+02:00", opens: "2026-03-30T02:30:00+02:00",
		},
		"Several times left out open one window": {
			reason:  "02:00, 02:20 and 02:40 all open at 03:00, for ten minutes",
			windows: windows{window("*/20 2 * * *", 10*time.Minute, "America/New_York")},
			now:     "2026-03-08T03:09:00-04:00", open: true, closes: "2026-03-08T03:10:00-04:00",
		},
		"Clocks put forward don't shorten a window": {
			reason:  "4 h of elapsed time from 00:00 end at 05:00",
			windows: windows{window("0 0 * * *", 4*time.Hour, "America/New_York")},
			now:     "2026-03-08T04:59:00-04:00", open: true, closes: "2026-03-08T05:00:00-04:00",
		},
		"A time that comes twice opens a window the first time": {
			reason: "02:30 summer time", windows: windows{window("30 2 * * *", 30*time.Minute, "Europe/Berlin")},
			now: "2026-10-25T02:30:00+02:00", open: true, closes: "2026-10-25T03:00:00+02:00",
		},
		"But not the second time": {
			reason:  "02:30 standard time is an hour later",
			windows: windows{window("30 2 * * *", 30*time.Minute, "Europe/Berlin")},
			now:     "2026-10-25T02:30:00+01:00", opens: "2026-10-26T02:30:00+01:00",
		},
		"A window opened the first time goes on through the second": {
			reason:  "90 min from 01:30 daylight time",
			windows: windows{window("30 1 * * *", 90*time.Minute, "America/New_York")},
			now:     "2026-11-01T01:59:00-05:00", open: true, closes: "2026-11-01T02:00:00-05:00",
		},
		"Clocks put back don't lengthen a window": {
			reason:  "4 h of elapsed time from 00:00 end at 03:00",
			windows: windows{window("0 0 * * *", 4*time.Hour, "America/New_York")},
			now:     "2026-11-01T03:00:00-05:00", opens: "2026-11-02T00:00:00-05:00",
		},
		"A day that a zone has skipped opens its window after it": {
			reason:  "Samoa had no 30 December 2011",
			windows: windows{window("0 12 30 12 *", time.Hour, "Pacific/Apia")},
			now:     "2011-12-30T10:30:00Z", open: true, closes: "2011-12-30T11:00:00Z",
		},

		"Windows that overlap join": {
			reason:  "10–12 and 11–13",
			windows: windows{window("0 11 * * *", 2*time.Hour, "UTC"), window("0 10 * * *", 2*time.Hour, "UTC")},
			now:     "2026-11-21T10:00:00Z", open: true, closes: "2026-11-21T13:00:00Z",
		},
		"Windows that touch join": {
			reason:  "10–11 in UTC and 12–13 in Berlin, which is 11–12 in UTC",
			windows: windows{window("0 10 * * *", time.Hour, "UTC"), window("0 12 * * *", time.Hour, "Europe/Berlin")},
			now:     "2026-11-21T10:30:00Z", open: true, closes: "2026-11-21T12:00:00Z",
		},
		"A window longer than its period is always open": {
			reason:  "each joins the next; it is looked ahead for a day",
			windows: windows{window("0 0 * * *", 25*time.Hour, "UTC")},
			now:     "2026-11-21T12:00:00Z", open: true, closes: "2026-11-23T01:00:00Z",
		},
		"The kind Allow is the default": {
			reason: "a window that names it is like one that doesn't",
			windows: windows{{Kind: v1alpha1.WindowAllow, Schedule: "0 1 * * *",
				Duration: metav1.Duration{Duration: time.Hour}}},
			now: "2026-11-21T12:00:00Z", opens: "2026-11-22T01:00:00Z",
		},
		"Where all windows deny, writes may begin outside them": {
			reason:  "working hours are kept free of changes",
			windows: windows{denied(window("0 8 * * 1-5", 10*time.Hour, "UTC"))},
			now:     "2026-11-21T12:00:00Z", open: true, closes: "2026-11-23T08:00:00Z",
		},
		"Nothing is open while one denies": {
			reason:  "Monday at noon",
			windows: windows{denied(window("0 8 * * 1-5", 10*time.Hour, "UTC"))},
			now:     "2026-11-23T12:00:00Z", opens: "2026-11-23T18:00:00Z",
		},
		"One that denies wins": {
			reason:  "the night is open, but not while backups run",
			windows: windows{window("0 22 * * *", 8*time.Hour, "UTC"), denied(window("0 1 * * *", time.Hour, "UTC"))},
			now:     "2026-11-21T01:30:00Z", opens: "2026-11-21T02:00:00Z",
		},
		"One that denies closes those that are open": {
			reason:  "backups begin before the night ends",
			windows: windows{window("0 22 * * *", 8*time.Hour, "UTC"), denied(window("0 1 * * *", time.Hour, "UTC"))},
			now:     "2026-11-20T23:00:00Z", open: true, closes: "2026-11-21T01:00:00Z",
		},
		"One that denies to the end of an open one is followed by the next": {
			reason:  "the whole of Saturday is denied, so that Sunday's window is the next",
			windows: windows{window("0 22 * * *", time.Hour, "UTC"), denied(window("0 0 * * 6", 24*time.Hour, "UTC"))},
			now:     "2026-11-21T12:00:00Z", opens: "2026-11-22T22:00:00Z",
		},
		"One that denies for a month is waited for": {
			reason:  "each day of December joins the next",
			windows: windows{denied(window("0 0 * 12 *", 24*time.Hour, "UTC"))},
			now:     "2026-12-02T12:00:00Z", opens: "2027-01-01T00:00:00Z",
		},
		"One that denies always is never waited for": {
			reason:  "looking ahead is bounded",
			windows: windows{denied(window("* * * * *", time.Minute, "UTC"))},
			now:     "2026-11-21T12:00:00Z",
		},
		"The nearest of several windows opens next": {
			reason:  "Sunday is nearer than Monday",
			windows: windows{window("0 1 * * 1", time.Hour, "UTC"), window("0 1 * * 0", time.Hour, "UTC")},
			now:     "2026-11-21T12:00:00Z", opens: "2026-11-22T01:00:00Z",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := canary.WindowState(tc.windows, instant(t, tc.now))
			if err != nil {
				t.Fatal(err)
			}
			want := canary.Window{Open: tc.open, Opens: instant(t, tc.opens).UTC(), Closes: instant(t, tc.closes).UTC()}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s\n-want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWindowsThatCantBeReadAreClosed(t *testing.T) {
	hour := time.Hour
	cases := map[string]struct {
		window v1alpha1.PlannedWindow
		want   string
	}{
		"Four fields": {
			window("0 22 * *", hour, "UTC"), `windows[1]: schedule: "0 22 * *" can't be read as`},
		"Seconds":                  {window("0 0 22 * * *", hour, "UTC"), "expected exactly 5 fields, found 6"},
		"An hour that isn't there": {window("0 24 * * *", hour, "UTC"), "end of range (24) above maximum (23)"},
		"Sunday as 7":              {window("0 0 * * 7", hour, "UTC"), "(0 to 6, Sunday is 0)"},
		"A word":                   {window("@daily", hour, "UTC"), `"@daily" can't be read`},
		"Nothing":                  {window("", hour, "UTC"), "empty spec string"},
		"A zone in the schedule":   {window("TZ=UTC", hour, "UTC"), "the zone of a window stands in timeZone"},
		"A day that never comes":   {window("0 0 30 2 *", hour, "UTC"), `"0 0 30 2 *" names a time that never comes`},
		"An empty list":            {window("0 , * * *", hour, "UTC"), "names a time that never comes"},
		"No duration":              {window("0 0 * * *", 0, "UTC"), "duration: 0s: must be from 1m0s to 168h0m0s"},
		"A duration too long": {window("0 0 * * *", 169*hour, "UTC"),
			"duration: 169h0m0s: must be from 1m0s to 168h0m0s"},
		"A zone nobody knows": {window("0 0 * * *", hour, "Europe/Brelin"),
			`timeZone: "Europe/Brelin" isn't the IANA name of a time zone, such as Europe/Berlin`},
		"The machine's zone": {window("0 0 * * *", hour, "Local"), "it differs from machine to machine"},
		"Another kind": {v1alpha1.PlannedWindow{Kind: "deny", Schedule: "0 0 * * *", TimeZone: "UTC",
			Duration: metav1.Duration{Duration: hour}}, `kind: "deny": must be Allow or Deny`},
		"A path": {window("0 0 * * *", hour, "../etc/passwd"), "isn't the IANA name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			// A second window that is open doesn't make up for it.
			got, err := canary.WindowState([]v1alpha1.PlannedWindow{window("* * * * *", hour, "UTC"), tc.window},
				instant(t, "2026-11-21T05:00:00Z"))
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("want an error with %q, got %v", tc.want, err)
			}
			if diff := cmp.Diff(canary.Window{}, got); diff != "" {
				t.Errorf("not closed: -want +got\n%s", diff)
			}
		})
	}
}
