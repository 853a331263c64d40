// SPDX-License-Identifier: Apache-2.0

package policy_test

import (
	"testing"

	"evenkeel.dev/evenkeel/internal/policy"
)

func TestOneLineDrivesNoTerminal(t *testing.T) {
	cases := map[string]struct{ text, want string }{
		"plain":                         {"nginx:1.0 ist groß, ok", "nginx:1.0 ist groß, ok"},
		"lines":                         {"a\r\nb\tc", "a  b c"},
		"an escape sequence":            {"\x1b[2J\x1b]0;title\x07", " [2J ]0;title "},
		"one of the C1 set":             {"\u009b31m", " 31m"},
		"writing that is turned around": {"a\u202eb\u2066c", "a b c"},
		"what isn't UTF-8":              {"a\xffb", "a b"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := policy.OneLine(tc.text); got != tc.want {
				t.Errorf("OneLine(%q): got %q, want %q", tc.text, got, tc.want)
			}
		})
	}
}
