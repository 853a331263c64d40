// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"slices"
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	cases := map[string]struct {
		reason, name string
		among        []string
		want         string
	}{
		"a letter is missing":     {"the commonest slip", "severty", []string{"match", "severity"}, "severity"},
		"another case":            {"the API knows one spelling", "Match", []string{"match", "mode"}, "match"},
		"two are as near":         {"the first by name, always the same", "warm", []string{"warp", "ward"}, "ward"},
		"nothing is near":         {"a guess that is wrong is worse than none", "colour", []string{"match", "id"}, ""},
		"a short name":            {"half of it may not be wrong", "no", []string{"id"}, ""},
		"the plural of a keyword": {"as people write it", "kind", []string{"kinds", "apiGroups"}, "kinds"},
		"the name itself":         {"it isn't what is wrong", "deny", []string{"deny"}, ""},
		"too many letters wrong":  {"that is too many", "abcdefgh", []string{"abcdefghijkl"}, ""},
		"letters of two bytes":    {"letters count", "größe", []string{"grösse"}, "grösse"},
		"as long as may be": {"it counts", strings.Repeat("a", 252), []string{strings.Repeat("a", 253)},
			strings.Repeat("a", 253)},
		"longer than may be": {"nobody compares it by eye", strings.Repeat("a", 253),
			[]string{strings.Repeat("a", 254)}, ""},
		"too many long names": {"nothing is guessed", strings.Repeat("b", 250),
			append(slices.Repeat([]string{strings.Repeat("a", 250)}, 200), strings.Repeat("b", 251)), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := Nearest(tc.name, tc.among); got != tc.want {
				t.Errorf("%s: %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
	if got := DidYouMean("severty", []string{"severity"}); got != "; did you mean severity?" {
		t.Errorf("it asks %q", got)
	}
	if got := DidYouMean("x", []string{"severity"}); got != "" {
		t.Errorf("where nothing is near it asks %q", got)
	}
}
