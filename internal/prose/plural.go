// SPDX-License-Identifier: Apache-2.0

package prose

import "strings"

// Plural is a noun for so many things, of those that take an s, or ies for y.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, found := strings.CutSuffix(noun, "y"); found {
		return stem + "ies"
	}
	return noun + "s"
}
