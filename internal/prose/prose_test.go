// SPDX-License-Identifier: Apache-2.0

package prose

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestShorten(t *testing.T) {
	cases := map[string]struct {
		reason, text      string
		limit             int
		bytes, characters string
	}{
		"A text that fits":          {"nothing is added", "short", 100, "short", "short"},
		"A text of just the limit":  {"it fits", "fleet", 5, "fleet", "fleet"},
		"A longer text":             {"the mark counts too", "a longer text", 8, "a lon…", "a longe…"},
		"Characters of two bytes":   {"none is cut in half", "ääää", 6, "ä…", "ääää"},
		"No room":                   {"not even for the mark", "text", 0, "", ""},
		"No room for the mark":      {"whole characters are left", "text", 2, "te", "t…"},
		"Room for nothing but that": {"the mark is three bytes and one character", "text", 3, "…", "te…"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.bytes, Shorten(tc.text, tc.limit)); diff != "" {
				t.Errorf("%s: to bytes (-want +got)\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.characters, ShortenCharacters(tc.text, tc.limit)); diff != "" {
				t.Errorf("%s: to characters (-want +got)\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWhatIsShortenedIsNeverOverItsLimitAndStaysText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.String().Draw(t, "text"), rapid.IntRange(0, 40).Draw(t, "limit")
		got, letters := Shorten(text, limit), ShortenCharacters(text, limit)
		if len(got) > limit || utf8.RuneCountInString(letters) > limit {
			t.Errorf("%d bytes and %d characters of %q, the limit is %d", len(got), utf8.RuneCountInString(letters),
				text, limit)
		}
		for _, cut := range []string{got, letters} {
			kept := strings.TrimSuffix(cut, ellipsis)
			if !utf8.ValidString(cut) || !strings.HasPrefix(text, kept) && !strings.HasPrefix(text, cut) {
				t.Errorf("%q isn't the beginning of %q", cut, text)
			}
		}
	})
}

func TestPlural(t *testing.T) {
	for n, want := range map[int]string{0: "problems", 1: "problem", 2: "problems"} {
		if got := Plural(n, "problem"); got != want {
			t.Errorf("%d %s, want %s", n, got, want)
		}
	}
	if got := Plural(2, "policy"); got != "policies" {
		t.Errorf("2 %s", got)
	}
}
