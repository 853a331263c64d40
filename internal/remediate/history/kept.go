// SPDX-License-Identifier: Apache-2.0

package history

import (
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// maxKeptPlans bounds the ended plans of a policy that are kept beyond its history
// because the memory of fights needs them.
const maxKeptPlans = 100

// SetAside are the plans that keep a namespace out of a revision's next plan. An empty
// revision stands for any.
func SetAside(pol *v1alpha1.ClusterRegoPolicy, plans []v1alpha1.Remediation, revision string, now time.Time) []string {
	var names []string
	for i := range plans {
		if rem := &plans[i]; revision == "" && circuit.FailedAlone(rem.Status) != "" {
			names = append(names, rem.Name)
		}
	}
	stand := StandingOf(pol, plans, revision, now)
	for _, aside := range stand.Aside {
		names = append(names, stand.plans[aside.End].Name)
	}
	return names
}

// BeyondHistory are the plans to delete, of all plans with the oldest first, and
// after how long there will be another; zero means never by time alone. A plan
// goes when there are more than limit ended ones, itself among the oldest, or
// when it ended longer than maxAge ago. These stay: the latest plan; one that is
// at work; those kept: the one that a person has said to retry, which cuts off
// what the planner remembers, the one that a person had undone, which keeps its
// revision from being planned again, and those that keep a namespace out of it; and one whose fixes
// are still hot (see remembered), unless more than maxKeptPlans are kept.
func BeyondHistory(plans []v1alpha1.Remediation, h v1alpha1.HistoryStrategy, kept []string, now time.Time) (
	expired []v1alpha1.Remediation, next time.Duration) {
	place := int32(0) // among the ended plans, the newest first
	for i := len(plans) - 1; i >= 0; i-- {
		rem := plans[i]
		if !rem.Rests() || rem.DeletionTimestamp != nil {
			continue
		}
		place++
		if i == len(plans)-1 || slices.Contains(kept, rem.Name) {
			continue
		}
		left := h.MaxAge.Duration - now.Sub(rem.EndTime())
		if place > h.Limit || left < 0 {
			left = Remembered(&rem, now)
		}
		if left < 0 || place > maxKeptPlans {
			expired = append(expired, rem)
		} else {
			next = Sooner(next, max(left, time.Second))
		}
	}
	return expired, next
}

// Remembered is for how long an ended plan's fixes still add to the heat of
// objects that somebody may be fighting over; negative when no longer.
func Remembered(rem *v1alpha1.Remediation, now time.Time) time.Duration {
	if !rem.Stands() {
		return -1
	}
	return fightMemory - now.Sub(rem.EndTime())
}

// Sooner is the shorter of two waits, of which zero means none.
func Sooner(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
