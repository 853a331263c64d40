// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"cmp"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"
)

// Nearest is the one of some names that a person most likely meant by a name that
// isn't among them; empty when none is near. Case counts for little, and one letter
// in four may be wrong.
func Nearest(name string, among []string) string {
	type guess struct {
		name     string
		distance int
	}
	var guesses []guess
	for _, candidate := range among {
		distance := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(candidate))
		if candidate != name && distance <= 1+min(len(name), len(candidate))/4 {
			guesses = append(guesses, guess{name: candidate, distance: distance})
		}
	}
	if len(guesses) == 0 {
		return ""
	}
	return slices.MinFunc(guesses, func(a, b guess) int {
		return cmp.Or(cmp.Compare(a.distance, b.distance), cmp.Compare(a.name, b.name))
	}).name
}

// DidYouMean asks after the nearest of some names, as the end of a message; it is
// empty when none is near.
func DidYouMean(name string, among []string) string {
	if nearest := Nearest(name, among); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}
