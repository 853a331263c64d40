// SPDX-License-Identifier: Apache-2.0

package display

import (
	"cmp"
	"fmt"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/preview"
	"evenkeel.dev/evenkeel/internal/prose"
)

// Shown bounds the drawing of what is to be approved: how many different changes, and how
// many targets of each are named. Zero is as many as is usual.
type Shown struct{ Changes, Targets int }

const (
	usualChanges = 20
	usualNamed   = 3
)

// Proposal is what the plan would do; nil when nobody is to approve it any more.
func (r Rollout) Proposal() *preview.Proposal {
	rem := r.Remediation
	if rem.Spec.Plan.Rollout.Mode != v1alpha1.RemediationManual || rem.Status.Approval != nil || rem.Phase().Final() {
		return nil
	}
	slices := make([]*v1alpha1.RemediationSlice, len(r.Slices))
	for i := range r.Slices {
		slices[i] = &r.Slices[i]
	}
	return preview.ProposalOf(rem, slices)
}

// DrawProposal gives the lines of what is to be approved.
func (r Rollout) DrawProposal(style Style) []string {
	d := &drawing{style: style}
	rem := r.Remediation
	d.add(bold, "Remediation %s", rem.Name)
	d.add(plain, "  Policy    %s, revision %.12s, owner %s", rem.Spec.Plan.Policy.Name, rem.Spec.Plan.Policy.Revision,
		orDash(rem.Spec.Plan.Policy.Owner))
	d.add(plain, "  Targets   %d, in waves of %v", rem.Spec.Plan.Targets,
		canary.Targets(rem.Spec.Plan.Waves))
	r.proposal(d)
	return d.lines
}

// proposal draws what is to be approved, the targets with equal changes together.
func (r Rollout) proposal(d *drawing) {
	p := r.Proposal()
	if p == nil {
		return
	}
	d.section("To approve")
	switch {
	case p.Complete():
		d.add(plain, "  Digest    %s", p.Digest)
	case r.TargetsUnknown:
		d.add(busy, "  unavailable: you may not read its targets")
	default:
		d.add(busy, "  computed for %d of %s so far: nobody can approve it yet", p.Known,
			prose.Count(p.All, "target"))
	}
	shown := min(len(p.Groups), cmp.Or(r.Shown.Changes, usualChanges))
	for _, g := range p.Groups[:shown] {
		r.group(d, g)
	}
	if more := len(p.Groups) - shown; more > 0 {
		d.add(busy, "  and %d more %s, which the digest covers too; --limit 0 shows all", more,
			prose.Plural(more, "change"))
	}
}

func (r Rollout) group(d *drawing, g preview.Group) {
	names := make([]string, 0, len(g.Targets))
	for _, t := range g.Targets[:min(len(g.Targets), cmp.Or(r.Shown.Targets, usualNamed))] {
		names = append(names, strings.TrimPrefix(t.String(), g.Kind+" "))
	}
	list := strings.Join(names, ", ")
	if more := len(g.Targets) - len(names); more > 0 {
		list = fmt.Sprintf("%s and %d more", list, more)
	}
	d.add(plain, "  %d %s: %s", len(g.Targets), g.Kind, list)
	switch {
	case g.Why != "":
		d.add(faint, "      nothing is written: %s", g.Why)
	case g.Change == "":
		d.add(busy, "      not shown, for want of room: see the objects")
	}
	for line := range strings.Lines(g.Change) {
		d.add(good, "      %s", strings.TrimRight(line, "\n"))
	}
}
