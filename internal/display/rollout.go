// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Rollout is a plan with all that its drawing shows, as read at one time.
type Rollout struct {
	Remediation *v1alpha1.Remediation
	// Slices hold the targets, in order. Some may be missing while they are made.
	Slices []v1alpha1.RemediationSlice
	// Breakers are those that cover the plan.
	Breakers []v1alpha1.RemediationBreaker
	// BreakersUnknown: they may not be read, so that none of them says nothing. TargetsUnknown: some slices may not.
	BreakersUnknown, TargetsUnknown bool
	// Unread says what may not be read, and is missing in the drawing, and what to do about it.
	Unread []string
	Now    time.Time
	// Shown bounds the drawing of what is to be approved.
	Shown Shown
}

// barLength is the length of the progress bar, in characters.
const barLength = 40

// Draw gives the lines of the drawing: the head, what is to be approved, the waves, the gates, what
// people have asked for, the next step, what is in flight, what went wrong, and what couldn't be read.
func (r Rollout) Draw(style Style) []string {
	d := &drawing{style: style}
	r.head(d)
	r.proposal(d)
	r.waves(d)
	r.gates(d)
	r.requests(d)
	r.next(d)
	r.targets(d)
	d.list("Not read", bad, r.Unread)
	return d.lines
}

// drawing collects lines.
type drawing struct {
	style Style
	lines []string
}

// add adds a line of one tone, wrapped where it is longer than the terminal is wide.
func (d *drawing) add(t tone, format string, args ...any) {
	for _, row := range d.style.rows(prose.OneLine(fmt.Sprintf(format, args...))) {
		d.lines = append(d.lines, d.style.paint(t, row))
	}
}

// section begins a part, after an empty line.
func (d *drawing) section(title string) {
	d.lines = append(d.lines, "")
	d.add(bold, "%s", title)
}

// part is a section that is left out when draw draws nothing.
func (d *drawing) part(title string, draw func()) {
	before := len(d.lines)
	d.section(title)
	body := len(d.lines)
	if draw(); len(d.lines) == body {
		d.lines = d.lines[:before]
	}
}

func (r Rollout) head(d *drawing) {
	rem := r.Remediation
	d.add(bold, "Remediation %s", rem.Name)
	policy := rem.Spec.Plan.Policy
	d.add(plain, "  Policy    %s, revision %.12s, owner %s, mode %s", policy.Name, policy.Revision,
		orDash(policy.Owner), rem.Spec.Plan.Rollout.Mode)
	for _, limit := range rem.Spec.Plan.Limits {
		d.add(plain, "  Limit     %s", limit)
	}
	if policy.RunbookURL != "" {
		d.add(plain, "  Runbook   %s", policy.RunbookURL)
	}
	d.add(r.tone(), "  Phase     %s%s, for %s", r.phase(), r.reason(), r.age(rem.Status.PhaseStartTime))
	c := rem.Status.Counts
	d.add(plain,
		"  Targets   %d: %d done, %d in flight, %d pending, %d skipped, %d failed, %d reverted, %d in conflict",
		rem.Spec.Plan.Targets, c.Done, c.InFlight, c.Pending, c.Skipped, c.Failed, c.Reverted, c.RevertConflict)
	progress := r.progress()
	d.add(plain, "  Progress  %s %3d %%", bar(progress, rem.Spec.Plan.Targets, barLength),
		int64(progress)*100/int64(max(rem.Spec.Plan.Targets, 1)))
}

// progress is how many targets need nothing more of the plan. Once it reverts, or has ended
// without fixing all, only what is fixed counts: a plan that is undone isn't complete.
func (r Rollout) progress() int32 {
	c := r.Remediation.Status.Counts
	if facts := r.phase().Facts(); facts.Reverts || facts.Final && !facts.Complete {
		return c.Done
	}
	return r.Remediation.Spec.Plan.Targets - c.Pending - c.InFlight
}

func (r Rollout) phase() v1alpha1.RemediationPhase { return r.Remediation.Phase() }

func (r Rollout) reason() string {
	if r.Remediation.Status.Reason == "" {
		return ""
	}
	return " (" + r.Remediation.Status.Reason + ")"
}

// next says what comes, or what is awaited.
func (r Rollout) next(d *drawing) {
	title := "Next"
	if r.phase().Final() {
		title = "Outcome"
	}
	d.section(title)
	d.add(r.tone(), "  %s", orDash(r.Remediation.Status.Message))
	if r.unseen() {
		d.add(busy, "  what a person asked for last (pause, resume, abort, undo or retry) isn't taken up yet; if this "+
			"stays, see whether the manager runs")
	}
}

// unseen says that somebody has changed the plan since the manager last looked
// at it: until it does, what is drawn is from before that.
func (r Rollout) unseen() bool {
	rem := r.Remediation
	return !rem.Rests() && rem.Status.Phase != "" && rem.Status.ObservedGeneration < rem.Generation
}

// tone is that of the phase.
func (r Rollout) tone() tone {
	switch facts := r.phase().Facts(); {
	case facts.Complete:
		return good
	case facts.Failing && (facts.Incomplete || !r.asked()):
		return bad
	case facts.Waits:
		return busy
	default:
		return plain
	}
}

// asked says that the plan's end, which fixes nothing, is what a person asked for: no failure.
func (r Rollout) asked() bool { return r.undone() || r.Remediation.Status.Succeeded() }

// undone says that a person has the plan undone, or had.
func (r Rollout) undone() bool { return r.Remediation.Status.Reason == v1alpha1.ReasonUndone }

// ago is the time since t as kubectl writes ages.
func (r Rollout) ago(t time.Time) string { return duration.HumanDuration(max(r.Now.Sub(t), 0)) }

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
