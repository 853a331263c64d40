// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"fmt"

	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// shortestName is what is left of a name at the least.
const shortestName = 16

// fit words a warning. Where it would be too long, its names are cut, the longest first, and its words stand: a
// person needs them more, and knows what they have just written.
func fit(format string, names ...string) string {
	words := func() string {
		all := make([]any, len(names))
		for i, name := range names {
			all[i] = name
		}
		return fmt.Sprintf(format, all...)
	}
	text := words()
	for over := len(text) - serving.MaxWarningBytes; over > 0; over = len(text) - serving.MaxWarningBytes {
		longest := 0
		for i, name := range names {
			if len(name) > len(names[longest]) {
				longest = i
			}
		}
		if len(names) == 0 || len(names[longest]) <= shortestName {
			break
		}
		names[longest] = prose.Shorten(names[longest], max(len(names[longest])-over, shortestName))
		text = words()
	}
	return prose.Shorten(text, serving.MaxWarningBytes)
}

// inWarnings is what there is to say, as one warning where that fits, or else as its parts: what happens, and what to
// do. Neither is cut for the other.
func inWarnings(whole string, parts ...string) []string {
	if len(whole) <= serving.MaxWarningBytes {
		return []string{whole}
	}
	for i := range parts {
		parts[i] = prose.Shorten(parts[i], serving.MaxWarningBytes)
	}
	return parts
}
