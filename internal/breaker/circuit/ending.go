// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

const (
	firstReplan = time.Minute
	// maxReplan is the longest wait for another plan when nothing was written,
	// maxReplanUndone when something was, and had to be undone.
	maxReplan       = time.Hour
	maxReplanUndone = 24 * time.Hour
)

// SpeaksOfFix says whether a target's failure speaks against the policy's fix, or, of a
// fight, against trying it again by itself. The
// others speak of the API server, of somebody's webhook or budget, of other
// writers, permissions or health: they pass without a change of the policy.
func SpeaksOfFix(targetReason string) bool {
	switch targetReason {
	case v1alpha1.ReasonRetriesExhausted, v1alpha1.ReasonConflict, v1alpha1.ReasonDisruptionBudget,
		v1alpha1.ReasonMissingPermissions,
		v1alpha1.ReasonUnobserved, v1alpha1.ReasonNotServed:
		return false
	}
	return !ProvesNothing(targetReason)
}

// ProvesNothing says whether a target came to nothing because its health couldn't
// show whether the fix does harm: it wasn't well before, or nobody can tell.
func ProvesNothing(targetReason string) bool {
	return targetReason == v1alpha1.ReasonUnhealthyBefore || targetReason == v1alpha1.ReasonHealthUnknown
}

// ReplanAfter is how long after the end of the latest plan another one is made:
// zero unless it ended without an answer, else a minute, doubled with each plan in
// a row that ended so. ends are those of the revision's plans, oldest first.
func ReplanAfter(ends []v1alpha1.RemediationStatus) time.Duration {
	wait, most := time.Duration(0), maxReplan
	for i := len(ends) - 1; i >= 0 && ends[i].Reason == v1alpha1.ReasonNoAnswer; i-- {
		if ends[i].Phase != v1alpha1.PhaseAborted {
			most = maxReplanUndone
		}
		wait = min(max(2*wait, firstReplan), maxReplanUndone)
	}
	return min(wait, most)
}
