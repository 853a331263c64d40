// SPDX-License-Identifier: Apache-2.0

//go:build !clockoffset

package wallclock

import "k8s.io/utils/clock"

// New is the manager's time.
func New() clock.WithTicker { return clock.RealClock{} }
