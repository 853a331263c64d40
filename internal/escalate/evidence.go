// SPDX-License-Identifier: Apache-2.0

package escalate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// maxEvidence is how many targets a description names.
	maxEvidence = 5
	// maxMessage bounds the message of one target, maxStatus that of a plan or
	// breaker, and maxDescription all of it: receivers cut long texts at the wrong
	// place, and what to do stands at the end.
	maxMessage     = 300
	maxStatus      = 1000
	maxDescription = 4096
	// maxProposals is how many of the targets' fixes are shown, each up to
	// maxProposal bytes; the slices hold all of them. Why a target failed takes their place.
	maxProposals = 1
	maxProposal  = 800
	// maxSeen is how many lines are told of what was seen of targets that failed, each up to maxSeenLine bytes;
	// the plan's status holds all of them.
	maxSeen     = 4
	maxSeenLine = 160
)

// Evidence is what a plan's targets tell a person.
type Evidence struct {
	// Targets are the first few, those that need a person most first.
	Targets []TargetEvidence
	// More is the number of others.
	More int
	// Left is the number of targets that are left to their owners, and Fights how
	// many of these somebody keeps setting back.
	Left, Fights int
	// SetBack is the number of targets that failed because somebody else set them back.
	SetBack int
}

// TargetEvidence is one target.
type TargetEvidence struct {
	Object  v1alpha1.ObjectReference
	State   v1alpha1.TargetState
	Reason  string
	Message string
	// Proposal is the fix of a target that is left to its owner, as a diff.
	Proposal string
	// Seen is what was seen of a target that failed, before its write was undone.
	Seen []string
}

// EvidenceOf reads a plan's slices, given in order, and what its status keeps of failures. It names targets that
// couldn't be set back, that failed, that were set back, and that are left to
// their owners, in this order.
func EvidenceOf(status v1alpha1.RemediationStatus, parts []v1alpha1.RemediationSlice) Evidence {
	var e Evidence
	var all []TargetEvidence
	for _, part := range parts {
		for i, rec := range part.Records {
			if i >= len(part.Targets) || rank(rec) < 0 {
				continue
			}
			if rec.State == v1alpha1.TargetSkipped {
				e.Left++
			}
			if rec.State == v1alpha1.TargetSkipped && rec.Reason == v1alpha1.ReasonFighting {
				e.Fights++
			}
			if rec.State == v1alpha1.TargetFailed && rec.Reason == v1alpha1.ReasonFighting {
				e.SetBack++
			}
			all = append(all, TargetEvidence{Object: part.Targets[i].Object, State: rec.State,
				Reason: rec.Reason, Message: rec.Message, Proposal: rec.Proposal,
				Seen: status.EvidenceOf(part.Targets[i].Object.UID).Lines()})
		}
	}
	slices.SortStableFunc(all, func(a, b TargetEvidence) int { return cmp.Compare(rank(a.record()), rank(b.record())) })
	shown := min(len(all), maxEvidence)
	e.Targets, e.More = all[:shown:shown], len(all)-shown
	return e
}

// rank orders targets by how much they need a person; negative is not at all.
func rank(rec v1alpha1.TargetRecord) int {
	switch {
	case rec.State == v1alpha1.TargetRevertConflict:
		return 0
	case rec.State == v1alpha1.TargetFailed:
		return 1
	case rec.State == v1alpha1.TargetReverted:
		return 2
	case inFlight(rec.State) && (rec.Reason != "" || rec.Message != ""):
		return 3 // it failed its check, or its write or the undoing of it keeps failing
	case rec.State == v1alpha1.TargetSkipped && leftToOwner(rec):
		return 4
	default:
		return -1
	}
}

// leftToOwner says whether somebody else must fix the target. One that its own
// controller makes has a proposal only when the policy doesn't judge its root.
func leftToOwner(rec v1alpha1.TargetRecord) bool {
	return rec.Reason == v1alpha1.ReasonManaged || rec.Reason == v1alpha1.ReasonFighting ||
		rec.Reason == v1alpha1.ReasonOwned && rec.Proposal != ""
}

func inFlight(s v1alpha1.TargetState) bool {
	return s == v1alpha1.TargetIntent || s == v1alpha1.TargetApplied || s == v1alpha1.TargetVerified
}

func (t TargetEvidence) record() v1alpha1.TargetRecord {
	return v1alpha1.TargetRecord{State: t.State, Reason: t.Reason, Message: t.Message, Proposal: t.Proposal}
}

// String lists the targets, one a line; it is empty when there are none.
func (e Evidence) String() string {
	if len(e.Targets) == 0 {
		return ""
	}
	var lines []string
	proposals, seen := 0, 0
	for _, t := range e.Targets {
		lines = append(lines, t.line())
		for _, line := range t.Seen[:min(len(t.Seen), maxSeen-seen)] {
			lines = append(lines, "  "+said(line, maxSeenLine))
			seen++
		}
		if t.Proposal != "" && seen == 0 && proposals < maxProposals {
			lines = append(lines, indented(t.Proposal, maxProposal))
			proposals++
		}
	}
	if e.More > 0 {
		lines = append(lines, fmt.Sprintf("- and %d more", e.More))
	}
	return strings.Join(lines, "\n")
}

func (t TargetEvidence) line() string {
	line := fmt.Sprintf("- %s %s: %s", t.Object.Kind, nameOf(t.Object), t.State)
	if t.Reason != "" {
		line += " (" + t.Reason + ")"
	}
	line = prose.OneLine(line)
	if t.Message != "" {
		line += ": " + said(t.Message, maxMessage)
	}
	return line
}

// said is a text out of an object, on one line and within a limit: whoever edits an object that is
// fixed could otherwise write lines of their own into what people are told to do.
func said(text string, limit int) string { return prose.Shorten(prose.OneLine(text), limit) }

// indented is a text of several lines out of an object. None of them begins as one of ours does.
func indented(text string, limit int) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	for i, line := range lines {
		lines[i] = "  " + prose.OneLine(line)
	}
	return prose.Shorten(strings.Join(lines, "\n"), limit)
}

func nameOf(o v1alpha1.ObjectReference) string {
	if o.Namespace == "" {
		return o.Name
	}
	return o.Namespace + "/" + o.Name
}

func paragraphs(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n")
}
