// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// shownTargets bounds the lists of targets.
const shownTargets = 8

// targets lists what is in flight and what went wrong, the first few of each.
func (r Rollout) targets(d *drawing) {
	var flying, verified, undone, troubled, skipped []string
	r.each(func(t v1alpha1.Target, rec v1alpha1.TargetRecord) {
		line := fmt.Sprintf("%-14s %s", rec.State, t.Object)
		switch rec.State {
		case v1alpha1.TargetIntent, v1alpha1.TargetApplied:
			flying = append(flying, line+r.since(rec)+note(rec))
		case v1alpha1.TargetVerified:
			verified = append(verified, line+r.since(rec))
		case v1alpha1.TargetFailed, v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
			if rec.State == v1alpha1.TargetReverted && rec.Reason == "" && r.undone() {
				undone = append(undone, line+note(rec))
			} else {
				troubled = append(troubled, line+note(rec))
			}
		case v1alpha1.TargetSkipped:
			if rec.Reason != v1alpha1.ReasonNotAttempted && rec.Reason != v1alpha1.ReasonAlreadyClean {
				skipped = append(skipped, line+note(rec))
			}
		case v1alpha1.TargetPending, v1alpha1.TargetDone, v1alpha1.TargetPreviewed:
		}
	})
	d.list("In flight", busy, append(flying, verified...))
	d.list("Undone", plain, undone)
	d.list("Trouble", bad, troubled)
	d.list("Skipped", faint, skipped)
	r.evidence(d)
}

// evidence says why targets failed, as it was seen before their writes were undone.
func (r Rollout) evidence(d *drawing) {
	kept := r.Remediation.Status.Evidence
	if len(kept) == 0 {
		return
	}
	d.section("Evidence, as seen before anything was undone")
	for i := range kept {
		d.add(plain, "  %s, %s ago", kept[i].Object, r.ago(kept[i].CollectedTime.Time))
		for _, line := range kept[i].Lines() {
			d.add(bad, "    %s", line)
		}
	}
}

func (d *drawing) list(title string, t tone, lines []string) {
	if len(lines) == 0 {
		return
	}
	d.section(fmt.Sprintf("%s (%d)", title, len(lines)))
	for _, line := range lines[:min(len(lines), shownTargets)] {
		d.add(t, "  %s", line)
	}
	if more := len(lines) - shownTargets; more > 0 {
		d.add(faint, "  and %d more", more)
	}
}

func (r Rollout) since(rec v1alpha1.TargetRecord) string {
	if rec.Write == nil || rec.Write.AppliedTime == nil {
		return ""
	}
	return ", written " + r.ago(rec.Write.AppliedTime.Time) + " ago"
}

func note(rec v1alpha1.TargetRecord) string {
	switch {
	case rec.Reason == "" && rec.Message == "":
		return ""
	case rec.Reason == "":
		return ": " + rec.Message
	case rec.Message == "":
		return ": " + rec.Reason
	}
	return ": " + rec.Reason + ": " + rec.Message
}
