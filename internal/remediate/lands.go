package remediate

import (
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// landingBound is how long after its intent a write may reach its object: it is sent
// within sendWithin, given up after writeTimeout, and the API server ends any request of
// that kind within a minute of having received it.
const landingBound = 2 * time.Minute

// landsUntil is until when a record's writes may reach their objects, by the
// clock of whoever recorded them; zero when none may.
func landsUntil(rec *v1alpha1.TargetRecord) time.Time {
	var until time.Time
	if !landing(rec) {
		return until
	}
	for _, w := range writesOf(rec) {
		if w.IntentAt != nil && w.IntentAt.Add(landingBound).After(until) {
			until = w.IntentAt.Add(landingBound)
		}
	}
	return until
}

// landing says whether a record holds a write that was sent, or may have been,
// and that isn't known to have happened. Once the record is settled that doesn't
// matter any more.
func landing(rec *v1alpha1.TargetRecord) bool {
	return (rec.State == v1alpha1.TargetIntent || rec.State == v1alpha1.TargetPending) &&
		slices.ContainsFunc(writesOf(rec), func(w *v1alpha1.WriteRecord) bool { return w.AppliedAt == nil })
}
