// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
)

// plannedRollout draws a plan that doesn't exist yet.
type plannedRollout struct{ *preview.Plan }

// DrawPlan gives the lines of the drawing: the head, the waves as a tree, what is left
// alone, what would hold the rollout, and which permissions are missing. At most shown
// targets of a wave are named; 0 means all.
func DrawPlan(plan *preview.Plan, style Style, shown int) []string {
	p := plannedRollout{plan}
	d := &drawing{style: style}
	d.add(bold, "Plan for policy %s", p.Policy)
	d.add(plain, "  Revision  %.12s, mode %s", p.Revision, p.Mode)
	if p.Targets() > 0 {
		d.add(plain, "  Rollout   %s in %s, at least %s", prose.Count(p.Targets(), "target"),
			prose.Count(len(p.Waves), "wave"), p.LeastDuration)
	} else {
		d.add(good, "  Rollout   nothing to fix")
	}
	if p.Remediation != "" {
		d.add(plain, "  Name      %s", p.Remediation)
	}
	p.waves(d, shown)
	p.skipped(d, shown)
	if n := p.Waiting + p.Later; n > 0 {
		d.section("Later")
		if p.Later > 0 {
			d.add(plain, "  Left for the next plan (maxTargets): %d %s", p.Later,
				prose.Plural(p.Later, "object"))
		}
		if p.Waiting > 0 {
			d.add(plain, "  Failed in an earlier plan, waiting for another try: %d %s", p.Waiting,
				prose.Plural(p.Waiting, "object"))
		}
	}
	p.holds(d)
	return d.lines
}

func (p plannedRollout) waves(d *drawing, shown int) {
	if p.Targets() == 0 {
		return
	}
	d.section("Waves")
	stage := ""
	for i, w := range p.Waves {
		if w.Stage != stage {
			stage = w.Stage
			d.add(bold, "  stage %s", stage)
		}
		title := fmt.Sprintf("wave %d", i)
		if w.Canary {
			title = "canary"
		}
		d.add(plain, "  %s: %d", title, len(w.Targets))
		tree(d, w.Targets, shown)
	}
}

func (p plannedRollout) skipped(d *drawing, shown int) {
	if len(p.Skipped) == 0 {
		return
	}
	byReason := map[string][]preview.Target{}
	var reasons []string
	for _, t := range p.Skipped {
		if byReason[t.Reason] == nil {
			reasons = append(reasons, t.Reason)
		}
		byReason[t.Reason] = append(byReason[t.Reason], t)
	}
	slices.Sort(reasons)
	d.section(fmt.Sprintf("Skipped (%d)", len(p.Skipped)))
	for _, reason := range reasons {
		d.add(plain, "  %s: %d", reason, len(byReason[reason]))
		for i := range byReason[reason] {
			byReason[reason][i].Reason = "" // it stands above
		}
		tree(d, byReason[reason], shown)
	}
}

// tree draws targets as the leaves of what stands above.
func tree(d *drawing, targets []preview.Target, shown int) {
	hidden := 0
	if shown > 0 && len(targets) > shown {
		hidden = len(targets) - shown
		targets = targets[:shown]
	}
	for i, t := range targets {
		branch, stem := "├─", "│ "
		if i == len(targets)-1 && hidden == 0 {
			branch, stem = "└─", "  "
		}
		tone := plain
		if t.Reason != "" {
			tone = bad
		}
		d.add(tone, "  %s %s%s", branch, t.Object,
			note(v1alpha1.TargetRecord{Reason: t.Reason, Message: t.Message}))
		for line := range strings.Lines(t.Diff) {
			line = strings.TrimRight(line, "\n")
			d.add(diffTone(line), "  %s    %s", stem, line)
		}
	}
	if hidden > 0 {
		d.add(faint, "  └─ and %d more; --all names them", hidden)
	}
}

func diffTone(line string) tone {
	switch {
	case strings.HasPrefix(line, "+"):
		return good
	case strings.HasPrefix(line, "-"):
		return bad
	}
	return faint
}

func (p plannedRollout) holds(d *drawing) {
	if len(p.Holds) > 0 {
		d.section("Would be held")
		for _, h := range p.Holds {
			d.add(busy, "  %s %s: %s", mark(busy), h.Reason, h.Message)
		}
	}
	if len(p.MissingPermissions) > 0 {
		d.section("Missing permissions")
		for _, rule := range p.MissingPermissions {
			d.add(bad, "  - %s", rule)
		}
		d.add(faint, "  To add them, once the policy is in force: %s", v1alpha1.GrantCommand)
	}
	if len(p.Notes) > 0 {
		d.section("Notes")
		for _, n := range p.Notes {
			d.add(faint, "  %s", n)
		}
	}
}
