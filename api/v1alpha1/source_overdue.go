// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "time"

// overdueGrace is how much later than announced a repository may be asked again, besides the time that asking may
// take, before that is reported: clocks differ.
const overdueGrace = 2 * time.Minute

// Overdue is how long ago the repository should have been asked again that wasn't; zero when that is in order. A
// manager that is running leaves none overdue.
func (s *PolicySource) Overdue(now time.Time) time.Duration {
	timeout := s.Spec.Timeout.Duration
	if timeout == 0 {
		timeout = DefaultSourceTimeout
	}
	if late := s.Late(now); late > timeout+overdueGrace {
		return late
	}
	return 0
}

// Late is how long ago the repository was to be asked again that wasn't yet: a sync may be under way. Zero before that
// time, and for a source that is suspended.
func (s *PolicySource) Late(now time.Time) time.Duration {
	if s.Status.NextAttemptTime == nil || s.Spec.Suspend {
		return 0
	}
	return max(now.Sub(s.Status.NextAttemptTime.Time), 0)
}
