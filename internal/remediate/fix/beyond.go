// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/surplus"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// maxBeyondBytes bounds what is added to a record that was found to fit before.
const maxBeyondBytes = 2 << 10

// compare looks at what the server answered to the write itself: a webhook may change
// more than it did at the dry run, which it needn't treat alike. That goes into the
// record, to be undone with the rest, unless it is too large or a Secret's value.
func (w *Write) compare(stored *unstructured.Unstructured, expected []action.Field) error {
	if w.Base.GetUID() != stored.GetUID() {
		return nil
	}
	var more []action.Field
	for _, changed := range action.DiffStep(w.Base.Object, stored.Object, w.Subresource) {
		if path, beyond := action.Beyond(expected, []action.Field{changed}); beyond {
			more, w.Record.Beyond = append(more, changed), prose.Shorten(path, maxPathBytes)
		}
	}
	if len(more) == 0 {
		return nil
	}
	return addToRecord(&w.Record, w.Fields, more, policy.SecretsOf(w.Base.Object, stored.Object))
}

// addToRecord adds what a write changed beyond its fix to its record. What is too large for
// that, or a Secret's value, is only named: the undoing leaves it.
func addToRecord(rec *v1alpha1.WriteRecord, fields, more []action.Field, secrets policy.Secrets) error {
	with := &Write{Fields: slices.Concat(fields, more)}
	raw, err := json.Marshal(more)
	if err != nil {
		return err
	}
	if len(raw) > maxBeyondBytes || len(with.Fields) > maxRecordItems || longestPath(with) > maxPathBytes ||
		len(secrets) > 0 && with.tells(secrets) {
		rec.Surplus = prose.Shorten(more[0].Path, maxPathBytes)
		return nil
	}
	return SetFields(rec, with.Fields)
}

// Arrived completes the record of a write that was found in its object, though its answer
// was lost: with what came with it beyond the fix.
func Arrived(rec *v1alpha1.WriteRecord, live *unstructured.Unstructured) error {
	fields, err := action.FromRecordFields(rec.Fields)
	if err != nil {
		return err
	}
	b, err := surplus.Beyond(rec.Expected, live, rec.Subresource, v1alpha1.FieldManager, fields...)
	if err != nil || b.Path == "" {
		return err
	}
	rec.Beyond = prose.Shorten(b.Path, maxPathBytes)
	if len(b.Added) > 0 {
		if err := addToRecord(rec, fields, b.Added, policy.SecretsOf(live.Object)); err != nil {
			return err
		}
	}
	if b.Kept != "" {
		rec.Surplus = prose.Shorten(b.Kept, maxPathBytes)
	}
	return nil
}

// NotedBeyond notes on the record of a target that a write changed more than its fix says.
// It is a failure, however well the object seems to be.
func NotedBeyond(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range record.WritesOf(&rec) {
		if w.Beyond == "" {
			continue
		}
		rec.Reason = v1alpha1.ReasonFixChangesMore
		rec.Message = fmt.Sprintf("the API server, or a mutating webhook, changed %s too at the write, though not at "+
			"its dry run: find out who, and have them treat both alike", w.Beyond)
		if w.Surplus != "" {
			rec.Message += fmt.Sprintf(
				"; %s can't be reverted: its value before isn't recorded, or somebody may have set it since", w.Surplus)
		}
		rec.Message = prose.Shorten(rec.Message, 1024)
		break
	}
	return rec
}

// CheckBeyond fails a target whose write changed more than its fix says.
func CheckBeyond(rec v1alpha1.TargetRecord) *rollout.Check {
	if rec.Reason != v1alpha1.ReasonFixChangesMore {
		return nil
	}
	return &rollout.Check{Result: rollout.CheckFailed, Reason: v1alpha1.ReasonFixChangesMore, Message: rec.Message}
}
