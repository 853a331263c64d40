package remediate

import (
	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// writesOf are the recorded writes of a target, in order.
func writesOf(rec *v1alpha1.TargetRecord) []*v1alpha1.WriteRecord {
	var out []*v1alpha1.WriteRecord
	for i := range rec.Preceding {
		out = append(out, &rec.Preceding[i])
	}
	if rec.Write != nil {
		out = append(out, rec.Write)
	}
	return out
}

// briefly leaves out of a record's proofs what makes them large: that something differs is
// known then, though not where.
func briefly(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range writesOf(&rec) {
		for _, e := range []*v1alpha1.ExpectedContent{w.Expected, w.UndoExpected} {
			if e != nil {
				e.Places = nil
			}
		}
	}
	return rec
}

// withoutProofs leaves them out: what became of the writes is known.
func withoutProofs(rec v1alpha1.TargetRecord) v1alpha1.TargetRecord {
	for _, w := range writesOf(&rec) {
		w.Expected, w.UndoExpected = nil, nil
	}
	return rec
}
