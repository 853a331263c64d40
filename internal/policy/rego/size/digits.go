// SPDX-License-Identifier: Apache-2.0

package size

import (
	"strconv"
	"strings"
)

// MaxDigits is the longest number that is calculated with.
const MaxDigits = 400

// WithinDigits says that a number, written in decimal with an exponent perhaps, has few
// digits when it is written out.
func WithinDigits(number string) bool {
	if len(number) > MaxDigits {
		return false
	}
	at := strings.IndexAny(number, "eE")
	if at < 0 {
		return true
	}
	exponent := strings.TrimLeft(number[at+1:], "+-")
	end := 0
	for end < len(exponent) && exponent[end] >= '0' && exponent[end] <= '9' {
		end++
	}
	value, err := strconv.Atoi("0" + exponent[:end])
	return err == nil && value <= MaxDigits
}
