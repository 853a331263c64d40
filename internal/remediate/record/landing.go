// SPDX-License-Identifier: Apache-2.0

package record

import (
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// LandingBound is how long after its intent a write may reach its object: it is sent
// within sendWithin of internal/remediate, given up after its writeTimeout, and the API
// server ends any request of that kind within a minute of having received it.
const LandingBound = 2 * time.Minute

// LandsUntil is until when a record's writes may reach their objects, by the
// clock of whoever recorded them; zero when none may.
func LandsUntil(rec *v1alpha1.TargetRecord) time.Time {
	var until time.Time
	if !MayLand(rec) {
		return until
	}
	for _, w := range WritesOf(rec) {
		if w.IntentTime != nil && w.IntentTime.Add(LandingBound).After(until) {
			until = w.IntentTime.Add(LandingBound)
		}
	}
	return until
}

// MayLand says whether a record holds a write that was sent, or may have been,
// and that isn't known to have happened. Once the record is settled that doesn't
// matter any more.
func MayLand(rec *v1alpha1.TargetRecord) bool {
	return (rec.State == v1alpha1.TargetIntent || rec.State == v1alpha1.TargetPending) &&
		slices.ContainsFunc(WritesOf(rec), func(w *v1alpha1.WriteRecord) bool { return w.AppliedTime == nil })
}
