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

func TestShortenLines(t *testing.T) {
	long, x := strings.Repeat("a line\n", 10), strings.Repeat("x", 50)
	cases := map[string]struct {
		reason, text string
		limit        int
		want         string
	}{
		"A text that fits":       {"nothing is added", "one\ntwo", 7, "one\ntwo"},
		"A longer text":          {"the rest is counted", long, 60, long[:21] + "… cut here: 7 more lines\n"},
		"One line too many":      {"it is one line", "a line\n" + x, 48, "a line\n… cut here: 1 more line\n"},
		"A last line that ends":  {"its end is none", "a line\n" + x + "\n", 48, "a line\n… cut here: 1 more line\n"},
		"A first line too long":  {"no line is cut", x + x + "\ny", 50, "… cut here: 2 more lines\n"},
		"No room for the remark": {"the limit counts more than what is said", long, 9, "a line…"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := ShortenLines(tc.text, tc.limit)
			if diff := cmp.Diff(tc.want, got); diff != "" || len(got) > tc.limit {
				t.Errorf("%s: %d bytes of at most %d (-want +got)\n%s", tc.reason, len(got), tc.limit, diff)
			}
		})
	}
}

func TestLinesAreNeverOverTheirLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, limit := rapid.StringMatching(`([ä ]{0,9}\n?){0,30}`).Draw(t, "text"), rapid.IntRange(0, 120).Draw(t, "limit")
		got := ShortenLines(text, limit)
		if len(got) > limit || !utf8.ValidString(got) {
			t.Fatalf("%d bytes of at most %d: %q", len(got), limit, got)
		}
		if kept, remark, found := strings.Cut(got, "… cut here: "); found && len(text) > limit {
			rest := strings.TrimSuffix(strings.TrimPrefix(text, kept), "\n")
			if want := Count(strings.Count(rest, "\n")+1, "more line") + "\n"; remark != want {
				t.Errorf("it says %q of %q, want %q", remark, rest, want)
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
	if got := Plural(2, "key"); got != "keys" {
		t.Errorf("two of a key are %s", got)
	}
	if got := Plural(2, "policy"); got != "policies" {
		t.Errorf("2 %s", got)
	}
}

func TestVerbsAgreeWithTheirNumber(t *testing.T) {
	for n, want := range map[int]string{0: "0 targets are", 1: "1 target is", 2: "2 targets are"} {
		if got := Are(n, "target"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if one, many := Verb(1, "waits", "wait"), Verb(2, "waits", "wait"); one != "waits" || many != "wait" {
		t.Errorf("1 target %s, 2 targets %s", one, many)
	}
}
