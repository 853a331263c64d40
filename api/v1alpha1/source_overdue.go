// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// overdueGrace is how much later than announced a repository may be asked again, besides the time that asking may
// take, before that is told: clocks differ.
const overdueGrace = 2 * time.Minute

// Overdue is how long ago the repository should have been asked again that wasn't; zero when that is in order. A
// manager that is at work leaves none overdue.
func (s *PolicySource) Overdue(now time.Time) time.Duration {
	if s.Status.NextAttemptAt == nil || s.Spec.Suspend {
		return 0
	}
	timeout := s.Spec.Timeout.Duration
	if timeout == 0 {
		timeout = DefaultSourceTimeout
	}
	if late := now.Sub(s.Status.NextAttemptAt.Time); late > timeout+overdueGrace {
		return late
	}
	return 0
}
