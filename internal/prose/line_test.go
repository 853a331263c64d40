// SPDX-License-Identifier: Apache-2.0

package prose_test

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"unicode"

	"evenkeel.dev/evenkeel/internal/prose"
)

func TestOneLineDrivesNoTerminal(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"plain":                         {"nginx:1.0 ist groß, ok", "nginx:1.0 ist groß, ok"},
		"lines":                         {"a\r\nb\tc", "a  b c"},
		"an escape sequence":            {"\x1b[2J\x1b]0;title\x07", " [2J ]0;title "},
		"one of the C1 set":             {"\u009b31m", " 31m"},
		"writing that is turned around": {"a\u202eb\u2066c", "a b c"},
		"a command of GitHub's runner":  {"a ##[stop-commands]b", "a ## [stop-commands]b"},
		"commands of others":            {"##vso[x]##teamcity[y]###[z", "##vso [x]##teamcity [y]### [z"},
		"no commands":                   {"# a ## b ##c d[", "# a ## b ##c d["},
		"what isn't UTF-8":              {"a\xffb", "a b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := prose.OneLine(tc.text); got != tc.want {
				t.Errorf("OneLine(%q): got %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}

func TestShownIsWhatItIsButWhereItWouldDoSomething(t *testing.T) {
	for text, want := range map[string]string{
		"a/b c.yaml": "a/b c.yaml", "a\n::error::b": `"a\n::error::b"`, " ::error::b": `" ::error::b"`,
		"a::b": "a::b", "a##[error]": "a## [error]", "a\u202eb": `"a\u202eb"`,
	} {
		if got := prose.Shown(text); got != want {
			t.Errorf("Shown(%q): got %q, want %q", text, got, want)
		}
	}
}

func TestJSONSaysTheSame(t *testing.T) {
	const text = "{\"a\": \"## b ##[error]c ##vso[d ###[e \u009b\u202e\x7f\"}"
	got := prose.JSON([]byte(text))
	if strings.Contains(string(got), "##[") || strings.Contains(string(got), "##vso[") ||
		strings.ContainsFunc(string(got), unicode.IsControl) {
		t.Errorf("got %s", got)
	}
	var want, has map[string]string
	if err := errors.Join(json.Unmarshal([]byte(text), &want), json.Unmarshal(got, &has)); err != nil ||
		!maps.Equal(want, has) {
		t.Errorf("%s isn't %s: %v", got, text, err)
	}
}

func TestLinesStayLines(t *testing.T) {
	got := prose.Lines("a:\n\t- b\x1b[31m\n  ::error::c\n##[d]")
	if want := "a:\n\t- b [31m\n\"  ::error::c\"\n## [d]"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
