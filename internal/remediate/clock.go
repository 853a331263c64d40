// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
)

// clampTimes takes back the times of a status that are still to come: they were
// written before the clock was put back. Waiting for them would let a rollout
// stand still, and keep a wave that does harm from being late.
func clampTimes(s *v1alpha1.RemediationStatus, now time.Time) {
	for _, at := range []*metav1.MicroTime{s.PhaseStartedAt, s.WaveStartedAt, s.HealthySince, s.HeldSince,
		s.ProgressedAt} {
		if at != nil && at.After(now) {
			at.Time = now
		}
	}
}

// clampTargets does the same for what the machine sees of targets: a try that is
// further off than any wait is due, and a write that is still to come was made
// when the phase began.
func clampTargets(views []rollout.TargetView, s v1alpha1.RemediationStatus, now time.Time) {
	began := now
	if s.PhaseStartedAt != nil {
		began = s.PhaseStartedAt.Time
	}
	for i := range views {
		if views[i].NextAttemptAt.Sub(now) > 2*fix.MaxBackoff {
			views[i].NextAttemptAt = time.Time{}
		}
		if views[i].AppliedAt.After(now) {
			views[i].AppliedAt = began
		}
		if views[i].RevertedAt.After(now) {
			views[i].RevertedAt = began
		}
	}
}
