// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// UntilText says until when something lasts, with a space before: " until 2027-01-07T08:00:00Z". It is empty for
// what has no end.
func UntilText(end *metav1.Time) string {
	if end == nil {
		return ""
	}
	return " until " + end.UTC().Format(time.RFC3339)
}

// holds says whether what a person has asked for until an end is so at a time; without an end it is so until a
// person takes it back.
func holds(end *metav1.Time, now time.Time) bool { return end == nil || now.Before(end.Time) }

// Paused says whether the rollout is paused at a time. A pause ends by itself at the end that it names.
func (s *RemediationSpec) Paused(now time.Time) bool {
	return s.DesiredState == StatePaused && holds(s.PausedUntilTime, now)
}

// AsksOpen says whether a person has asked for the breaker to be held open, be it over by now or not. A mode that
// isn't known asks for it.
func (s *RemediationBreakerSpec) AsksOpen() bool { return s.Mode != "" && s.Mode != BreakerAutomatic }

// ForcedOpen says whether a person holds the breaker open at a time. It ends by itself at the end that it names.
func (s *RemediationBreakerSpec) ForcedOpen(now time.Time) bool {
	return s.AsksOpen() && holds(s.ForcedOpenUntilTime, now)
}

// ForcedBy is who holds the breaker open; nil when admission didn't see it.
func (b *RemediationBreaker) ForcedBy() *RequestRecord {
	return LatestRequest(Requests(b), ActionForceOpen, ActionRelease)
}
