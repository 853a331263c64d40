// SPDX-License-Identifier: Apache-2.0

package rollout

import "evenkeel.dev/evenkeel/api/v1alpha1"

// Progressed says whether a step brings the plan forward: a target is begun, settled
// or undone, a wave or a rollback begins, or a person lets the plan go on. Phases that
// come and go, tries that fail and metrics that answer on and off bring it nowhere.
func Progressed(s *v1alpha1.RemediationStatus, intent Intent, now v1alpha1.TargetCounts) bool {
	switch {
	case s.ProgressedAt == nil, intent.Wave != s.Wave, intent.Retry != "":
		return true
	case now.Pending < s.Counts.Pending, settledIn(now) > settledIn(s.Counts):
		return true
	case intent.Phase == v1alpha1.PhaseRollingBack && s.Phase != intent.Phase:
		return true
	}
	answered := s.Phase == v1alpha1.PhaseAwaitingApproval && intent.Phase != s.Phase
	resumed := s.Reason == v1alpha1.ReasonPaused && intent.Reason != s.Reason
	return answered || resumed || intent.Phase.Final()
}

func settledIn(c v1alpha1.TargetCounts) int32 {
	return c.Done + c.Skipped + c.Failed + c.Reverted + c.RevertConflict
}
