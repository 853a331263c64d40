//go:build !linux

package rego

import "time"

// threadTime is the time itself: the manager runs on Linux, this is for the command line.
func threadTime() time.Duration { return time.Duration(time.Now().UnixNano()) }
