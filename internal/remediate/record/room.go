// SPDX-License-Identifier: Apache-2.0

package record

import (
	"encoding/json"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/prose"
)

const (
	// usableSliceBytes leaves room for what the API server adds to a slice.
	usableSliceBytes = v1alpha1.MaxSliceBytes - 4<<10
	// maxProposals bounds the proposals of one slice, in bytes: the records of writes
	// need the rest.
	maxProposals = 64 << 10
	// shortText is how much of a text stays where a slice is full.
	shortText = 128
	// settlingBytes are what a record may come to hold beside its writes: state, reason,
	// times and counts.
	settlingBytes = 320
	// writingBytes are what the record of a write may come to hold until its answer is
	// known, and undoingBytes what it may after that.
	writingBytes, undoingBytes = 600, 50
)

const (
	// PlannedSliceBytes are what a plan fills of a slice.
	PlannedSliceBytes = usableSliceBytes - 4<<10
	// patchWeight is what is planned for the record of a patch, and removalWeight for one
	// with a whole object in it, which is created or deleted. Both are more than most need;
	// what needs more takes the room of others.
	patchWeight, removalWeight = 2 << 10, 12 << 10
	// approvedWeight is what is planned beside it where a person must approve: the digest of
	// what was approved stays in the record until the target is settled.
	approvedWeight = 384
	// MaxTargetBytes is more than any target takes: its names are bounded by the API server.
	MaxTargetBytes = 1200
)

// WeightOf is what a plan keeps free in a slice for the record of each target.
func WeightOf(r *v1alpha1.PlannedRollout) int {
	weight, verbs := patchWeight, r.AllowedActions
	if slices.Contains(verbs, v1alpha1.ActionDelete) || slices.ContainsFunc(verbs, v1alpha1.ActionType.Creates) {
		weight = removalWeight
	}
	if r.Mode == v1alpha1.RemediationManual {
		weight += approvedWeight
	}
	return weight
}

// room is how much of a slice its records take, in bytes.
type room struct {
	// base is what the slice takes without its records.
	base int
	// holds and needs are by record: what it takes, and what it may come to take when it
	// is left with what undoing needs.
	holds, needs []int
}

// roomOf measures a slice, once.
func (b *Records) roomOf(slice int) *room {
	for len(b.rooms) <= slice {
		b.rooms = append(b.rooms, nil)
	}
	if b.rooms[slice] == nil {
		without := *b.Slices[slice]
		without.Records = nil
		r := &room{base: EncodedBytes(&without)}
		for _, rec := range b.Slices[slice].Records {
			r.holds, r.needs = append(r.holds, EncodedBytes(&rec)), append(r.needs, needOf(rec))
		}
		b.rooms[slice] = r
	}
	return b.rooms[slice]
}

// free is how much room a record may take, and may come to need, beside the others.
func (r *room) free(record int) (now, later int) {
	now, later = usableSliceBytes-r.base, usableSliceBytes-r.base
	for i := range r.holds {
		if i != record {
			now, later = now-r.holds[i], later-r.needs[i]
		}
	}
	return now, later
}

// Fits says whether the slice that holds a target stays within its size limit with
// this record, whatever becomes of all its targets later.
func (b *Records) Fits(i int, rec v1alpha1.TargetRecord) bool {
	p := b.Places[i]
	now, later := b.roomOf(p.Slice).free(p.Record)
	return EncodedBytes(&rec) <= now && needOf(rec) <= later
}

// fitsProposal says whether there is room for a record with its proposal.
func (b *Records) fitsProposal(i int, rec v1alpha1.TargetRecord) bool {
	p := b.Places[i]
	size := len(rec.Proposal)
	for j, other := range b.Slices[p.Slice].Records {
		if j != p.Record {
			size += len(other.Proposal)
		}
	}
	return size <= maxProposals && b.Fits(i, rec)
}

// place puts a record into its slice. Where the slice would pass its limit, texts and
// proofs give way, never what undoing needs.
func (b *Records) place(i int, rec v1alpha1.TargetRecord) {
	p := b.Places[i]
	b.change(p.Slice)
	r, records := b.roomOf(p.Slice), b.Slices[p.Slice].Records
	_, later := r.free(p.Record)
	need := needOf(rec)
	if need > later {
		rec = withoutAdded(rec, records[p.Record])
		need = needOf(rec)
	}
	records[p.Record] = rec
	r.holds[p.Record], r.needs[p.Record] = EncodedBytes(&rec), need
	for _, smaller := range []func(v1alpha1.TargetRecord) v1alpha1.TargetRecord{curt, lean} {
		if now, _ := r.free(p.Record); r.holds[p.Record] <= now {
			return
		}
		for j := range records {
			records[j] = smaller(records[j])
			r.holds[j] = EncodedBytes(&records[j])
		}
	}
}

// needOf is the most that a record may come to take later, once its texts are short.
func needOf(rec v1alpha1.TargetRecord) int {
	bare, each := lean(rec), undoingBytes
	bare.Message = ""
	if rec.State == v1alpha1.TargetIntent {
		each = writingBytes
	}
	return EncodedBytes(&bare) + settlingBytes + each*len(WritesOf(&bare))
}

// curt is a record with short texts, whose proofs don't tell where something differs.
func curt(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	out := Briefly(*rec.DeepCopy())
	out.Message = short(out.Message)
	return out
}

// lean is a record with all that undoing needs, its other texts short, and no proofs
// of what its writes were to make.
func lean(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	out := WithoutProofs(curt(rec))
	for _, w := range WritesOf(&out) {
		w.Beyond, w.Surplus = short(w.Beyond), short(w.Surplus)
	}
	return out
}

// withoutAdded leaves out the fields that came with a write beyond its fix, which the
// record of the write's intent had no room for: they are only named.
func withoutAdded(rec, intent v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	out := *rec.DeepCopy()
	before := WritesOf(&intent)
	for n, w := range WritesOf(&out) {
		if n < len(before) && w.Beyond != "" && len(w.Fields) > len(before[n].Fields) {
			w.Surplus, w.Fields = short(w.Beyond), slices.Clone(before[n].Fields)
			w.DigestBefore, w.DigestAfter = before[n].DigestBefore, before[n].DigestAfter
		}
	}
	return out
}

// Trim leaves out of the records of a plan that has ended what nobody needs any more:
// the patches as they were sent but for the mark, since undoing goes by the fields, proofs, tries and
// what was waited for, and the end of long messages of what is done. Fields before and
// after, keys, manifests, digests, times, proposals and other messages stay.
func (b *Records) Trim() {
	for i := range b.Places {
		rec := *b.Record(i).DeepCopy()
		if !rec.State.Settled() {
			continue
		}
		rec = WithoutProofs(rec)
		rec.Attempts, rec.NextAttemptTime, rec.WaitingTime = 0, nil, nil
		if rec.State == v1alpha1.TargetDone {
			rec.Message = short(rec.Message) // others' say what a person can do
		}
		if rec.State != v1alpha1.TargetPreviewed {
			for _, w := range WritesOf(&rec) {
				w.Forward = action.MarkOnly(w.Forward) // the undoing restores it
			}
		}
		if EncodedBytes(&rec) != EncodedBytes(b.Record(i)) {
			b.Set(i, rec)
		}
	}
}

// short cuts a text to what is always room for, quoted as JSON.
func short(s string) string {
	for n := shortText; ; n /= 2 {
		if cut := prose.Shorten(s, n); EncodedBytes(cut) <= shortText+2 {
			return cut
		}
	}
}

// EncodedBytes is the length of a value as JSON, with the comma behind it.
func EncodedBytes(v any) int {
	raw, err := json.Marshal(v)
	if err != nil {
		return usableSliceBytes // it can't be stored at all
	}
	return len(raw) + 1
}
