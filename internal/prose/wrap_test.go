// SPDX-License-Identifier: Apache-2.0

package prose_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"evenkeel.dev/evenkeel/internal/prose"
)

func TestWrap(t *testing.T) {
	for name, tc := range map[string]struct {
		line          string
		width, indent int
		want          []string
	}{
		"what fits stays":            {"one two", 7, 2, []string{"one two"}},
		"nothing":                    {"", 5, 2, []string{""}},
		"no width":                   {"one two", 0, 2, []string{"one two"}},
		"at a space":                 {"one two", 6, 2, []string{"one", "  two"}},
		"just behind a word":         {"one two three", 7, 1, []string{"one two", " three"}},
		"the line's own margin":      {"  one two", 6, 4, []string{"  one", "   two"}},
		"a long word":                {"https://example", 8, 2, []string{"https://", "  exampl", "  e"}},
		"a long word in a margin":    {"   abcdef", 5, 0, []string{"   ab", "cdef"}},
		"columns keep their spaces":  {"a   b   c d", 9, 1, []string{"a   b   c", " d"}},
		"characters and not bytes":   {"äöü äöü", 4, 0, []string{"äöü", "äöü"}},
		"an indent beyond the width": {"one two", 4, 9, []string{"one", "  tw", "  o"}},
		"a width of one":             {"ab", 1, 4, []string{"a", "b"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, prose.Wrap(tc.line, tc.width, tc.indent)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWrapLosesNothingAndIsNeverTooWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[ äbc]{0,40}`).Draw(t, "line")
		width, indent := rapid.IntRange(1, 20).Draw(t, "width"), rapid.IntRange(-1, 20).Draw(t, "indent")
		rows := prose.Wrap(line, width, indent)
		for _, row := range rows {
			if n := utf8.RuneCountInString(row); n > width {
				t.Errorf("%q has %d characters", row, n)
			}
		}
		without := func(text string) string { return strings.ReplaceAll(text, " ", "") }
		if got := without(strings.Join(rows, "")); got != without(line) {
			t.Errorf("%q is left of %q", got, line)
		}
	})
}
