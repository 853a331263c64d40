// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package limit

import "time"

// ThreadTime is the time itself: the manager runs on Linux, this is for the command line.
func ThreadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
