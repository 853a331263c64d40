// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"fmt"
	"strings"
)

// Count is so many things, with their noun as Plural has it: 1 target, 2 targets.
func Count[N ~int | ~int32 | ~int64](n N, noun string) string {
	return fmt.Sprintf("%d %s", n, Plural(int(n), noun))
}

// Are is Count with its verb: 1 target is, 2 targets are.
func Are[N ~int | ~int32 | ~int64](n N, noun string) string {
	return Count(n, noun) + " " + Verb(n, "is", "are")
}

// Verb is the form of a verb, or of a pronoun, for so many things.
func Verb[N ~int | ~int32 | ~int64](n N, one, many string) string {
	if n == 1 {
		return one
	}
	return many
}

// Plural is a noun for so many things, of those that take an s, or ies for y.
func Plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	if stem, found := strings.CutSuffix(noun, "y"); found && !strings.HasSuffix(noun, "ey") {
		return stem + "ies"
	}
	return noun + "s"
}
