// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/prose"
)

// The limits of the record of one target. Those of items and paths are those of the schema
// of WriteRecord; that of bytes leaves room in a slice for seven such targets.
const (
	maxRecordBytes = 32 << 10
	maxRecordItems = 256
	maxPathBytes   = 1024
)

// RecordWithinLimit keeps the record of a target's writes small: manifests, patches, and
// all values before and after. A fix whose record would be larger can't be undone from it,
// and is left to the object's owner.
func RecordWithinLimit(_ context.Context, a *Attempt) *v1alpha1.TargetRecord {
	total, items, ops, longest := 0, 0, 0, 0
	for _, w := range a.Writes {
		raw, err := json.Marshal(w.Fields)
		if err != nil {
			return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
		}
		total += len(raw)
		if raw, err = json.Marshal(slices.Concat(w.Record.Forward, w.Record.Keys)); err != nil {
			return a.Failed(v1alpha1.ReasonFixInvalid, err.Error())
		}
		total += len(raw)
		if w.Record.Manifest != nil {
			total += len(w.Record.Manifest.Raw)
		}
		items, ops, longest = max(items, len(w.Fields), len(w.Keys)), max(ops, len(w.Ops)), max(longest, longestPath(w))
	}
	if total > maxRecordBytes || max(items, ops) > maxRecordItems || longest > maxPathBytes {
		return a.TooLarge(fmt.Sprintf("the fix has %s on %s, and its record %d bytes with what it "+
			"creates or deletes; the limits are %d, %d and %d, and paths of %d bytes: "+
			"have the object's owner fix it, or let the fix change less",
			prose.Count(ops, "operation"), prose.Count(items, "field"), total, maxRecordItems, maxRecordItems,
			maxRecordBytes, maxPathBytes))
	}
	return nil
}

// TooLarge leaves alone what couldn't be undone, for want of room to record it, and gives
// the fix to the object's owner as a diff.
func (a *Attempt) TooLarge(why string) *v1alpha1.TargetRecord {
	rec := a.Failed(v1alpha1.ReasonFixTooLarge, why)
	if a.Object == nil || a.Patched == nil {
		return rec
	}
	if diff, err := action.Propose(a.Target.Object.String(), a.Object.Object, a.Patched, a.Steps,
		MaxProposal); err == nil {
		rec.Proposal = diff
	}
	return rec
}

// longestPath is the length of the longest path of a write, in bytes.
func longestPath(w *Write) int {
	longest := 0
	for _, f := range w.Fields {
		longest = max(longest, len(f.Path))
	}
	for _, op := range slices.Concat(w.Keys, w.Ops) {
		longest = max(longest, len(op.Path), len(op.From))
	}
	return longest
}

// ProveBriefly does the same to the records that are to be sent.
func (a *Attempt) ProveBriefly() {
	for _, w := range a.Writes {
		if w.Record.Expected != nil {
			w.Record.Expected.Places = nil
		}
	}
}
