// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// clampTimes takes back the times of a status that are still to come: they were
// written before the clock was put back. Waiting for them would let a rollout
// stand still, and keep a wave that does harm from being late.
func clampTimes(s *v1alpha1.RemediationStatus, now time.Time) {
	for _, at := range []*metav1.MicroTime{s.PhaseStartTime, s.WaveStartTime, s.HealthyTime, s.HeldTime,
		s.ProgressedTime} {
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
	if s.PhaseStartTime != nil {
		began = s.PhaseStartTime.Time
	}
	for i := range views {
		if views[i].NextAttemptAt.Sub(now) > 2*targets.MaxBackoff {
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

// clockStep is by how much the clock may differ from the time that has passed,
// until it counts as having been set.
const clockStep = time.Second

// soakClock measures soaks by this process's own clock. When a soak began is kept
// in a plan's status, but by the clock of whoever was the leader then: one that is
// ahead or behind would cut the soak. So a soak that another process began, begins
// anew; and one that this process has seen from its beginning lasts as long as has
// really passed, though the clock is set meanwhile.
type soakClock struct {
	mu    sync.Mutex
	began map[string]soakBegin
}

// soakBegin is when a plan's soak began: as it is persisted, and as this process
// measures it.
type soakBegin struct{ persisted, measured time.Time }

func newSoakClock() *soakClock { return &soakClock{began: map[string]soakBegin{}} }

// measure puts into a status since when the wave has soaked, as far as this process
// has seen it.
func (k *soakClock) measure(plan string, s *v1alpha1.RemediationStatus, now time.Time) {
	if k == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if s.HealthyTime == nil {
		delete(k.began, plan)
		return
	}
	b, known := k.began[plan]
	if !known || !b.persisted.Equal(s.HealthyTime.Time) {
		b = soakBegin{measured: now}
		s.HealthyTime.Time = now
	}
	if since := now.Add(-now.Sub(b.measured)); since.Sub(s.HealthyTime.Time).Abs() > clockStep {
		s.HealthyTime.Time = since
	}
	b.persisted = s.HealthyTime.Truncate(time.Microsecond)
	k.began[plan] = b
}

func (k *soakClock) drop(plan string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.began, plan)
}
