// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"sync"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

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
	if s.HealthySince == nil {
		delete(k.began, plan)
		return
	}
	b, known := k.began[plan]
	if !known || !b.persisted.Equal(s.HealthySince.Time) {
		b = soakBegin{measured: now}
		s.HealthySince.Time = now
	}
	if since := now.Add(-now.Sub(b.measured)); since.Sub(s.HealthySince.Time).Abs() > clockStep {
		s.HealthySince.Time = since
	}
	b.persisted = s.HealthySince.Truncate(time.Microsecond)
	k.began[plan] = b
}

func (k *soakClock) drop(plan string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.began, plan)
}
