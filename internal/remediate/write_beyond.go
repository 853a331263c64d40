package remediate

import (
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/action"
)

// maxBeyondBytes bounds what is added to a record that was found to fit before.
const maxBeyondBytes = 2 << 10

// compare looks at what the server answered to the write itself: a webhook may change
// more than it did at the dry run, which it needn't treat alike. That goes into the
// record, to be undone with the rest, unless it is too large or a Secret's value.
func (w *write) compare(stored *unstructured.Unstructured, expected []action.Field) error {
	if w.object.GetUID() != stored.GetUID() {
		return nil
	}
	var more []action.Field
	for _, changed := range action.DiffStep(w.object.Object, stored.Object, w.Subresource) {
		if path, beyond := action.Beyond(expected, []action.Field{changed}); beyond {
			more, w.beyond = append(more, changed), path
		}
	}
	if len(more) == 0 {
		return nil
	}
	with := *w
	with.fields = slices.Concat(w.fields, more)
	raw, err := json.Marshal(more)
	if err != nil || len(raw) > maxBeyondBytes || len(with.fields) > maxRecordItems || longestPath(&with) > maxPathBytes {
		return err
	}
	if policy.IsSecret(stored.Object) && with.tells(policy.SecretsOf(w.object.Object, stored.Object)) {
		return nil
	}
	return setFields(&w.record, with.fields)
}

// notedBeyond notes on the record of a target that a write changed more than its fix says.
// It is a failure, however well the object seems to be.
func notedBeyond(rec v1alpha1.TargetRecord, writes []*write) v1alpha1.TargetRecord {
	for _, w := range writes {
		if w.beyond != "" {
			rec.Reason = v1alpha1.ReasonFixChangesMore
			rec.Message = fmt.Sprintf("the API server, or a mutating webhook, changed %s too at the write, though not at its dry run: find out who, and have them treat both alike", w.beyond)
		}
	}
	return rec
}

// checkBeyond fails a target whose write changed more than its fix says.
func checkBeyond(rec v1alpha1.TargetRecord) *Check {
	if rec.Reason != v1alpha1.ReasonFixChangesMore {
		return nil
	}
	return &Check{CheckFailed, v1alpha1.ReasonFixChangesMore, rec.Message}
}
