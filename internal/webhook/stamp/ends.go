// SPDX-License-Identifier: Apache-2.0

package stamp

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
)

// The fields of spec that say when a pause of a plan, and the hold of a breaker, end by themselves.
const (
	pausedUntil = "pausedUntilTime"
	heldUntil   = "forcedOpenUntilTime"
)

// Passed says whether a write asks for something until an end that has come, for which nothing would come of
// it, and which end that is.
func Passed(r *policy.Request) (end time.Time, yes bool) {
	for _, a := range of(r.Resource, specOf(r.OldObject), specOf(r.Object)) {
		if a.until == "" {
			continue
		}
		// What is no time is the schema's to refuse.
		if end, err := time.Parse(time.RFC3339, a.until); err == nil && !r.Now.Before(end) {
			return end, true
		}
	}
	return time.Time{}, false
}

// leftover is the field that still holds the end of a pause, or of a hold, that a write ends before it: whoever
// resumes or aborts a plan by one field needn't know of the other. Empty for none.
func leftover(resource string, before, after map[string]any) string {
	field := ""
	switch {
	case resource == "remediations" && desired(after) != v1alpha1.StatePaused:
		field = pausedUntil
	case resource == "remediationbreakers" && !forcedOpen(after):
		field = heldUntil
	}
	if field == "" || text(after, field) == "" || text(after, field) != text(before, field) {
		return ""
	}
	return field
}
