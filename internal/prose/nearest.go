// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

const (
	// longest is the longest name that anything is near to, in bytes: that of a DNS subdomain.
	longest = 253
	// mostPairs is how many pairs of letters are compared for one guess, some tens of milliseconds.
	mostPairs = 8 << 20
)

// Nearest is the one of some names that a person most likely meant by a name that
// isn't among them; empty when none is near. Case counts for little, and one letter
// in four may be wrong. It is for whatever somebody writes: names over 253 bytes are near to none,
// and where there are so many that it would take long nothing is guessed.
func Nearest(name string, among []string) string {
	type guess struct {
		name     string
		distance int
	}
	var guesses []guess
	pairs := 0
	for _, candidate := range among {
		if candidate == name || max(len(candidate), len(name)) > longest {
			continue
		}
		most := 1 + min(len(name), len(candidate))/4
		given, other := strings.ToLower(name), strings.ToLower(candidate)
		letters, others := utf8.RuneCountInString(given), utf8.RuneCountInString(other)
		if max(letters, others)-min(letters, others) > most {
			continue
		}
		if pairs += letters * others; pairs > mostPairs {
			return ""
		}
		if distance := levenshtein.ComputeDistance(given, other); distance <= most {
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
