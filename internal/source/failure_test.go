// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Problems that are told already don't hide what else is wrong, and may go by itself.
func TestAFailureWithAnotherOne(t *testing.T) {
	told := withProblems(v1alpha1.ReasonNotCompiling, []v1alpha1.SourceProblem{problemAt("a.rego", 1, "wrong")})
	tests := map[string]struct {
		reason  string
		other   *failure
		says    string
		stalled bool
	}{
		"the same problems": {"nothing is said twice", told, "a.rego:1: wrong", true},
		"the same, and one that may go by itself": {"it is tried again soon",
			told.and("", transient(v1alpha1.ReasonApplyFailed, "500")), "500", false},
		"the same, and another one for a person": {"the person reads of both",
			told.and("", stalled(v1alpha1.ReasonTooManyRemoved, "too many")), "too many", true},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			both := told.and("x: ", tc.other)
			if !strings.Contains(both.message, tc.says) || both.stalled != tc.stalled || len(both.problems) != 1 {
				t.Errorf("%s: %+v", tc.reason, both)
			}
			if tc.other == told && both != told {
				t.Errorf("%s: %+v", tc.reason, both)
			}
		})
	}
}
