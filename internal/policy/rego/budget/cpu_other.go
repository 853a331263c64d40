// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package budget

import "time"

// processorTime is the time itself: the manager runs on Linux, this is for the command line.
func processorTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
