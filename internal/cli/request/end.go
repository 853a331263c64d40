// SPDX-License-Identifier: Apache-2.0

package request

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// End is when what a command asks for ends by itself, as its flags say it.
type End struct {
	// Of is what ends, with its article: "an override".
	Of string
	// Most is how long it lasts at most, and Lasting what to do for longer; zero: as long as anybody wants.
	Most    time.Duration
	Lasting string

	cmd   *cobra.Command
	lasts time.Duration
	until string
}

// TakesFor gives a command the flag --for.
func (e *End) TakesFor(cmd *cobra.Command) {
	e.cmd = cmd
	most := ""
	if e.Most > 0 {
		most = fmt.Sprintf("; %s at most", hours(e.Most))
	}
	cmd.Flags().DurationVar(&e.lasts, "for", 0, "how long, for example 30m or 2h"+most)
}

// Takes gives a command the flags --for and --until.
func (e *End) Takes(cmd *cobra.Command) {
	e.TakesFor(cmd)
	cmd.Flags().StringVar(&e.until, "until", "", "until when, for example 2027-01-07T08:00:00Z, in place of --for")
}

// Given says whether the flags name an end.
func (e *End) Given() bool { return e.changed("for") || e.changed("until") }

func (e *End) changed(flag string) bool {
	f := e.cmd.Flags().Lookup(flag)
	return f != nil && f.Changed
}

// Time is the end in whole seconds; nil for none. It errs, with what to give, for an end that has passed or can't
// be read, and for one that is too far off.
func (e *End) Time(now time.Time) (*metav1.Time, error) {
	switch {
	case !e.Given():
		return nil, nil //nolint:nilnil // there is none
	case e.changed("for") && e.changed("until"):
		return nil, fmt.Errorf("--for and --until both say when %s ends: give one of them", e.Of)
	case e.changed("until"):
		return e.untilTime(now)
	case e.lasts <= 0:
		return nil, fmt.Errorf("--for %s: %s ends in time to come; say how long it is to last, for example 2h", e.lasts,
			e.Of)
	case e.Most > 0 && e.lasts > e.Most:
		return nil, fmt.Errorf("--for %s: %s lasts %s at most; %s", e.lasts, e.Of, hours(e.Most), e.Lasting)
	}
	return wholeSeconds(now.Add(e.lasts)), nil
}

func (e *End) untilTime(now time.Time) (*metav1.Time, error) {
	end, err := time.Parse(time.RFC3339, e.until)
	if err != nil {
		return nil, fmt.Errorf("--until %.64q is no time: give one such as 2027-01-07T08:00:00Z, or say how long with "+
			"--for 2h", e.until)
	}
	if !now.Before(end) {
		return nil, fmt.Errorf("--until %s: %s ends in time to come, and it is %s now", e.until, e.Of,
			now.UTC().Format(time.RFC3339))
	}
	return wholeSeconds(end), nil
}

func wholeSeconds(t time.Time) *metav1.Time { return &metav1.Time{Time: t.UTC().Truncate(time.Second)} }

// hours is a duration in hours alone: 168h.
func hours(d time.Duration) string { return fmt.Sprintf("%dh", d/time.Hour) }
