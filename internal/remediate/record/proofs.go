// SPDX-License-Identifier: Apache-2.0

package record

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// WritesOf are the recorded writes of a target, in order.
func WritesOf(rec *v1alpha1.TargetRecord) []*v1alpha1.WriteRecord {
	var out []*v1alpha1.WriteRecord
	for i := range rec.Preceding {
		out = append(out, &rec.Preceding[i])
	}
	if rec.Write != nil {
		out = append(out, rec.Write)
	}
	return out
}

// Briefly leaves out of a record's proofs what makes them large: that something differs is
// known then, though not where.
func Briefly(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range WritesOf(&rec) {
		for _, e := range []*v1alpha1.ExpectedContent{w.Expected, w.UndoExpected} {
			if e != nil {
				e.Places = nil
			}
		}
	}
	return rec
}

// WithoutProofs leaves them out: what became of the writes is known.
func WithoutProofs(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range WritesOf(&rec) {
		w.Expected, w.UndoExpected = nil, nil
	}
	return rec
}
