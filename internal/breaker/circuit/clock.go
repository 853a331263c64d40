// SPDX-License-Identifier: Apache-2.0

package circuit

import (
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// trustAhead is how far ahead of the clock a breaker's times are believed: as long as
// the longest cooldown. A clock that went back by less is believed to have done so, and
// a promise stands; what is further ahead was written under a clock that was wrong.
const trustAhead = v1alpha1.MaxBreakerCooldown

// clampFuture takes back the times of a status that are further ahead than they are
// believed: else a breaker that opened under a clock a year ahead would stay open for
// a year. The cooldown and the permit begin anew, and last no longer than they would
// have. It says whether the opening was taken back.
func clampFuture(st *v1alpha1.RemediationBreakerStatus, now time.Time) (reopened bool) {
	limit := now.Add(trustAhead)
	if st.Permit != nil && st.Permit.ExpirationTime.After(now.Add(maxPermit)) {
		st.Permit.ExpirationTime = *MicroTime(now.Add(maxPermit))
	}
	for i := range st.RecentOpeningTimes {
		if st.RecentOpeningTimes[i].After(limit) {
			st.RecentOpeningTimes[i] = *MicroTime(now)
		}
	}
	if st.LastOutcomeTime != nil && st.LastOutcomeTime.After(limit) {
		st.LastOutcomeTime = MicroTime(now)
	}
	return clampOpening(st, limit, now) && st.State == v1alpha1.BreakerOpen
}

// clampOpening takes back the times of an opening.
func clampOpening(st *v1alpha1.RemediationBreakerStatus, limit, now time.Time) (changed bool) {
	if st.OpenedTime != nil && st.OpenedTime.After(limit) {
		cooldown := time.Duration(0)
		if st.NextProbeTime != nil {
			cooldown = min(max(st.NextProbeTime.Sub(st.OpenedTime.Time), 0), v1alpha1.MaxBreakerCooldown)
			st.NextProbeTime = MicroTime(now.Add(cooldown))
		}
		st.OpenedTime, changed = MicroTime(now), true
	}
	// No cooldown is longer, so that a promise beyond it is none.
	if st.NextProbeTime != nil && st.NextProbeTime.After(now.Add(2*trustAhead)) {
		st.NextProbeTime, changed = MicroTime(now.Add(trustAhead)), true
	}
	return changed
}

// maxPermit is the longest that a permit is believed to last: plans of many waves
// with long soaks take weeks.
const maxPermit = 60 * 24 * time.Hour
