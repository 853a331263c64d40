// SPDX-License-Identifier: Apache-2.0

package size

import "math"

// Times multiplies lengths, and stays at the largest number where it would leave
// it.
func Times(a, b int64) int64 {
	if a > 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

// Plus adds lengths likewise.
func Plus(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
