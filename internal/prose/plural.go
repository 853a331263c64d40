// SPDX-License-Identifier: Apache-2.0

package prose

// Plural is a noun for so many things, of those that take an s.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}
