// SPDX-License-Identifier: Apache-2.0

package record

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/preview"
)

// Propose keeps what the plan would do to a target that isn't written yet, to be approved
// and saved. What another target of the slice has told is told once.
func (b *Records) Propose(i int, change preview.Change) {
	rec := *b.Record(i)
	rec.Reason, rec.Message, rec.Attempts, rec.NextAttemptTime, rec.WaitingTime = "", "", 0, nil, nil
	for j, other := range b.Slices[b.Places[i].Slice].Records {
		first, told := preview.ParseChange(other.Proposal)
		if told && change.Text != "" && first.Text == change.Text && j != b.Places[i].Record {
			change.Text, change.SameAs = "", j+1
			break
		}
	}
	rec.Proposal = change.String()
	b.Set(i, rec)
}

// Approved leaves the texts that were told for the approval out of the slices of some
// targets: the records of their writes need the room. What was approved stays, as a digest.
func (b *Records) Approved(targets []int) {
	done := map[int]bool{}
	for _, t := range targets {
		slice := b.Places[t].Slice
		if done[slice] {
			continue
		}
		done[slice] = true
		for i, p := range b.Places {
			if p.Slice != slice {
				continue
			}
			rec := *b.Record(i)
			if brief := briefly(rec.Proposal); brief != rec.Proposal {
				rec.Proposal = brief
				b.place(i, rec)
			}
		}
	}
}

// briefly is a proposal without the text of what is approved; a diff for an owner stays.
func briefly(proposal string) string {
	if change, told := preview.ParseChange(proposal); told && change.Digest != "" {
		return preview.Change{Digest: change.Digest}.String()
	}
	return proposal
}

// proposalOf is what a record holds as its proposal. What was approved is of no use once
// the target is settled; its text isn't from the write on, or where there is no room.
func (b *Records) proposalOf(i int, rec v1alpha1.TargetRecord) (proposal string, leftOut bool) {
	_, told := preview.ParseChange(rec.Proposal)
	switch {
	case rec.Proposal == "":
		return "", false
	case told && rec.State.Settled():
		return "", false
	case told && (rec.State != v1alpha1.TargetPending || !b.fitsProposal(i, rec)):
		return briefly(rec.Proposal), false
	case told || b.fitsProposal(i, rec):
		return rec.Proposal, false
	}
	return "", true
}
