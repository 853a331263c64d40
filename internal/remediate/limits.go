package remediate

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The limits of the record of one target; those of the schema of WriteRecord.
const (
	maxRecordBytes = 32 << 10
	maxRecordItems = 256
	maxPathBytes   = 1024
)

// recordWithinLimit keeps the record of a target's writes small: manifests and
// all values before and after.
func recordWithinLimit(_ context.Context, a *attempt) *v1alpha1.TargetRecord {
	total, items, ops, longest := 0, 0, 0, 0
	for _, w := range a.writes {
		raw, err := json.Marshal(w.fields)
		if err != nil {
			return a.failed(v1alpha1.ReasonFixInvalid, err.Error())
		}
		total += len(raw)
		if w.record.Manifest != nil {
			total += len(w.record.Manifest.Raw)
		}
		items, ops, longest = max(items, len(w.fields), len(w.keys)), max(ops, len(w.Ops)), max(longest, longestPath(w))
	}
	if total > maxRecordBytes || max(items, ops) > maxRecordItems || longest > maxPathBytes {
		return a.failed(v1alpha1.ReasonFixTooLarge, fmt.Sprintf("the fix has %d operations on %d fields, %d bytes with what it creates or deletes; the limits are %d, %d and %d, and paths of %d bytes",
			ops, items, total, maxRecordItems, maxRecordItems, maxRecordBytes, maxPathBytes))
	}
	return nil
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
