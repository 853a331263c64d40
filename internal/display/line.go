// SPDX-License-Identifier: Apache-2.0

package display

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// Line tells the rollout in one line, for a log: what has changed shows in it,
// and nothing that merely grows older.
func (r Rollout) Line() string {
	c := r.Remediation.Status.Counts
	label := canary.WaveLabel(r.Remediation.Spec.Plan, r.Remediation.Status.Wave)
	return fmt.Sprintf(
		"%-18s %-12s %d done, %d in flight, %d pending, %d skipped, %d failed, %d reverted, %d in conflict%s",
		r.phase(), label,
		c.Done, c.InFlight, c.Pending, c.Skipped, c.Failed, c.Reverted, c.RevertConflict, r.reason())
}

// CoveredBy says whether a breaker covers the plan, or a part of its targets.
func (r Rollout) CoveredBy(cb *v1alpha1.RemediationBreaker) bool {
	scope := cb.Spec.Scope
	if scope.Namespace == "" {
		return scope.Policy == "" || scope.Policy == r.Remediation.Spec.Plan.Policy.Name
	}
	return r.anyTarget(func(namespace string) bool { return namespace == scope.Namespace })
}

// anyTarget says whether the namespace of any target is such.
func (r Rollout) anyTarget(is func(namespace string) bool) bool {
	return slices.ContainsFunc(r.Slices, func(s v1alpha1.RemediationSlice) bool {
		return slices.ContainsFunc(s.Targets, func(t v1alpha1.Target) bool { return is(t.Object.Namespace) })
	})
}
