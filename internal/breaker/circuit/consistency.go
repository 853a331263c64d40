// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"fmt"

	"slices"

	"k8s.io/apimachinery/pkg/api/equality"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// isNew tells the status of a breaker that was just made: nothing at all is set.
// A status with anything in it but a known state isn't new, it is broken.
func isNew(st *v1alpha1.RemediationBreakerStatus) bool {
	c := *st
	if c.ObservedGeneration == v1alpha1.NotObserved {
		c.ObservedGeneration = 0 // the schema's default
	}
	return equality.Semantic.DeepEqual(c, v1alpha1.RemediationBreakerStatus{}) // an empty list is none
}

// inconsistency says why a status can't be one that this package made, or
// nothing. Such a breaker counts as open: what it knew is lost.
func inconsistency(st *v1alpha1.RemediationBreakerStatus) string {
	if negative(st) {
		return "The breaker's counters are negative."
	}
	switch st.State {
	case v1alpha1.BreakerClosed:
		if st.Permit != nil {
			return "The breaker is closed but has a permit, which only a half-open one has."
		}
		return ""
	case v1alpha1.BreakerOpen, v1alpha1.BreakerHalfOpen:
		return inconsistentOpening(st)
	}
	return fmt.Sprintf("The breaker's state %q isn't one of Closed, Open and HalfOpen.",
		prose.ShortenCharacters(string(st.State), maxReason))
}

func inconsistentOpening(st *v1alpha1.RemediationBreakerStatus) string {
	switch {
	case st.OpenedTime.IsZero():
		return fmt.Sprintf("The breaker is %s without openedTime.", st.State)
	case st.NextProbeTime.IsZero():
		return fmt.Sprintf("The breaker is %s without nextProbeTime.", st.State)
	case st.Openings == 0:
		return fmt.Sprintf("The breaker is %s but counts no opening.", st.State)
	case st.NextProbeTime.Time.Before(st.OpenedTime.Time):
		return "The breaker's nextProbeTime is before its openedTime."
	case st.Permit != nil && st.State == v1alpha1.BreakerOpen:
		return "The breaker is open but has a permit, which only a half-open one has."
	case st.Permit != nil && (st.Permit.Remediation == "" || st.Permit.ExpirationTime.IsZero()):
		return "The breaker's permit names no Remediation or no end."
	}
	return ""
}

func negative(st *v1alpha1.RemediationBreakerStatus) bool {
	return min(st.Openings, st.ConsecutiveFailures, st.Failures, st.Outcomes, st.HalfOpenSuccesses) < 0 ||
		slices.ContainsFunc(st.Buckets, negativeBucket) || negativeStorm(st.Storm)
}

func negativeStorm(s *v1alpha1.BreakerStorm) bool {
	return s != nil && (s.Violating < 0 || slices.ContainsFunc(s.Buckets, func(b v1alpha1.BreakerStormBucket) bool {
		return b.Least < 0
	}))
}

func negativeBucket(b v1alpha1.BreakerBucket) bool {
	return b.Successes < 0 || b.Failures < 0
}

// repair drops what can't be used, so that what trip makes of the rest is
// consistent.
func repair(st *v1alpha1.RemediationBreakerStatus) {
	st.Openings, st.ConsecutiveFailures = max(st.Openings, 0), max(st.ConsecutiveFailures, 0)
	st.Buckets = slices.DeleteFunc(st.Buckets, negativeBucket)
	if negativeStorm(st.Storm) {
		st.Storm = nil
	}
}
