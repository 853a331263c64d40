// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// The limits of the record of one target. Those of items and paths are those of the schema
// of WriteRecord; that of bytes leaves room in a slice for seven such targets.
const (
	maxRecordBytes = 32 << 10
	maxRecordItems = 256
	maxPathBytes   = 1024
)

// recordWithinLimit keeps the record of a target's writes small: manifests, patches, and
// all values before and after. A fix whose record would be larger can't be undone from it,
// and is left to the object's owner.
func recordWithinLimit(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	total, items, ops, longest := 0, 0, 0, 0
	for _, w := range a.writes {
		raw, err := json.Marshal(w.fields)
		if err != nil {
			return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
		}
		total += len(raw)
		if raw, err = json.Marshal(slices.Concat(w.record.Forward, w.record.Keys)); err != nil {
			return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
		}
		total += len(raw)
		if w.record.Manifest != nil {
			total += len(w.record.Manifest.Raw)
		}
		items, ops, longest = max(items, len(w.fields), len(w.keys)), max(ops, len(w.Ops)), max(longest, longestPath(w))
	}
	if total > maxRecordBytes || max(items, ops) > maxRecordItems || longest > maxPathBytes {
		return a.tooLarge(fmt.Sprintf("the fix has %d operations on %d fields, and its record %d bytes with what it "+
			"creates or deletes; the limits are %d, %d and %d, and paths of %d bytes: "+
			"have the object's owner fix it, or let the fix change less",
			ops, items, total, maxRecordItems, maxRecordItems, maxRecordBytes, maxPathBytes))
	}
	return nil
}

// tooLarge leaves alone what couldn't be undone, for want of room to record it, and gives
// the fix to the object's owner as a diff.
func (a *attempt) tooLarge(why string) *v1alpha1.TargetRecord {
	rec := a.failed(v1alpha1.ReasonFixTooLarge, why)
	if a.object == nil || a.patched == nil {
		return rec
	}
	if diff, err := action.Propose(a.target.Object.String(), a.object.Object, a.patched, a.steps,
		maxProposal); err == nil {
		rec.Proposal = diff
	}
	return rec
}

// longestPath is the length of the longest path of a write, in bytes.
func longestPath(w *write) int {
	longest := 0
	for _, f := range w.fields {
		longest = max(longest, len(f.Path))
	}
	for _, op := range slices.Concat(w.keys, w.Ops) {
		longest = max(longest, len(op.Path), len(op.From))
	}
	return longest
}

// proveBriefly does the same to the records that are to be sent.
func (a *attempt) proveBriefly() {
	for _, w := range a.writes {
		if w.record.Expected != nil {
			w.record.Expected.Places = nil
		}
	}
}
