// SPDX-License-Identifier: Apache-2.0

package freeze

import (
	"errors"
	"fmt"
	"time"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// The bounds of what a file of freezes may hold.
const (
	maxFreezes = 50
	maxName    = 63
	maxReason  = 256
)

// Freeze is a time at which no plan begins a write: from and until, or again and again by a schedule.
type Freeze struct {
	// Name tells it from others, and Reason says why it is: whoever waits is told both.
	Name   string `json:"name"`
	Reason string `json:"reason"`
	// From and Until are when it begins, at once if that is left out, and when it has ended.
	From  *time.Time `json:"from,omitempty"`
	Until *time.Time `json:"until,omitempty"`
	// Schedule, Duration and TimeZone are those of a maintenance window.
	Schedule string          `json:"schedule,omitempty"`
	Duration metav1.Duration `json:"duration,omitempty,omitzero"`
	TimeZone string          `json:"timeZone,omitempty"`
}

// State is what freezes say of one moment.
type State struct {
	// Frozen says that no write may begin; Name and Reason are those of the first freeze that says so.
	Frozen       bool
	Name, Reason string
	// Until is when that one ends; zero for one that comes again without a pause.
	Until time.Time
}

// Freezes are those of a cluster.
type Freezes []Freeze

// Parse reads the freezes of a file. What isn't known, and what can't be a freeze, is an error that names it.
func Parse(text []byte) (Freezes, error) {
	var file struct {
		Freezes *Freezes `json:"freezes"`
	}
	if err := decode(text, &file); err != nil {
		return nil, err
	}
	if file.Freezes == nil {
		return nil, errors.New(`there is no list "freezes": for none write "freezes: []"`)
	}
	list := *file.Freezes
	if len(list) > maxFreezes {
		return nil, fmt.Errorf("%d freezes are more than the %d that there may be", len(list), maxFreezes)
	}
	seen := map[string]bool{}
	for i, f := range list {
		if err := f.check(); err != nil {
			return nil, fmt.Errorf("freezes[%d]: %w", i, err)
		}
		if seen[f.Name] {
			return nil, fmt.Errorf("freezes[%d]: name: there are two of the name %q", i, f.Name)
		}
		seen[f.Name] = true
	}
	return list, nil
}

// check says what is wrong with a freeze.
func (f Freeze) check() error {
	if err := told("name", f.Name, maxName); err != nil {
		return err
	}
	if err := told("reason", f.Reason, maxReason); err != nil {
		return err
	}
	once, recurs := f.From != nil || f.Until != nil, f.Schedule != "" || f.Duration.Duration != 0 || f.TimeZone != ""
	switch {
	case once == recurs:
		return errors.New("give either until, and from, or schedule and duration")
	case recurs:
		return f.checkSchedule()
	case f.Until == nil:
		return errors.New("until: a freeze must have an end; to stop all writes without one: evenkeel breaker open " +
			"global")
	case f.From != nil && !f.From.Before(*f.Until):
		return fmt.Errorf("until: %s isn't after from", f.Until.Format(time.RFC3339))
	}
	return nil
}

// checkSchedule says what is wrong with a freeze that recurs: it must pause, as one that doesn't recur must end.
func (f Freeze) checkSchedule() error {
	state, err := canary.WindowState(f.window(), time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC))
	if err == nil && !state.Open && state.Opens.IsZero() {
		err = errors.New("schedule: the freeze would go on without a pause; to stop all writes without an end: " +
			"evenkeel breaker open global")
	}
	return err
}

// told checks a text that people are shown.
func told(field, text string, most int) error {
	if text == "" || len(text) > most {
		return fmt.Errorf("%s: must have 1 to %d bytes", field, most)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s: %q must be printable, in one line", field, text)
		}
	}
	return nil
}

// window is a recurring freeze as the window of a strategy that denies.
func (f Freeze) window() []v1alpha1.PlannedWindow {
	return []v1alpha1.PlannedWindow{{Kind: v1alpha1.WindowDeny, Schedule: f.Schedule, Duration: f.Duration,
		TimeZone: f.TimeZone}}
}

// At is what the freezes say of the time now.
func (list Freezes) At(now time.Time) (State, error) {
	for _, f := range list {
		until, frozen, err := f.at(now)
		if err != nil {
			return State{}, fmt.Errorf("freeze %s: %w", f.Name, err)
		}
		if frozen {
			return State{Frozen: true, Name: f.Name, Reason: f.Reason, Until: until}, nil
		}
	}
	return State{}, nil
}

func (f Freeze) at(now time.Time) (until time.Time, frozen bool, err error) {
	if f.Until != nil {
		return f.Until.UTC(), now.Before(*f.Until) && (f.From == nil || !now.Before(*f.From)), nil
	}
	w, err := canary.WindowState(f.window(), now)
	return w.Opens, !w.Open, err
}
