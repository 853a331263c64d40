// SPDX-License-Identifier: Apache-2.0

package limitflags

import (
	"strings"
	"testing"
)

func TestToolFlagsAreChecked(t *testing.T) {
	cases := map[string]struct {
		reason string
		o      Tools
		want   []string
	}{
		"None are needed": {reason: "The documented marks are known."},
		"A label and a manager are right": {
			reason: "Both are names.",
			o: Tools{instanceLabels: []string{"app.kubernetes.io/instance"},
				fieldManagers: []string{"terraform"}}},
		"Evenkeel itself can't be such a tool": {reason: "It would leave what it wrote for ever.",
			o: Tools{fieldManagers: []string{"evenkeel"}}, want: []string{`can't have "evenkeel"`}},
		"What is wrong is named at once": {
			reason: "Both are.", o: Tools{instanceLabels: []string{"not a key"}, fieldManagers: []string{""}},
			want: []string{`"not a key" isn't the key of a label`, `can't have ""`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			err := tc.o.Validate()
			if (err == nil) != (tc.want == nil) {
				t.Fatalf("%s\nerror %v, want %v", tc.reason, err, tc.want)
			}
			for _, part := range tc.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%s\nerror %v doesn't say %q", tc.reason, err, part)
				}
			}
		})
	}
}
