// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

func TestReplanAfter(t *testing.T) {
	aborted := v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseAborted, Reason: v1alpha1.ReasonNoAnswer}
	undone := v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseRolledBack, Reason: v1alpha1.ReasonNoAnswer}
	well := v1alpha1.RemediationStatus{Phase: v1alpha1.PhaseSucceeded, Reason: v1alpha1.ReasonAllTargetsSettled}
	many := func(end v1alpha1.RemediationStatus, n int) (ends []v1alpha1.RemediationStatus) {
		for range n {
			ends = append(ends, end)
		}
		return ends
	}
	cases := map[string]struct {
		reason string
		ends   []v1alpha1.RemediationStatus
		want   time.Duration
	}{
		"No plan yet":        {"Nothing is in the way.", nil, 0},
		"A good end":         {"Nothing is in the way.", []v1alpha1.RemediationStatus{aborted, well}, 0},
		"The first outage":   {"A minute.", []v1alpha1.RemediationStatus{well, aborted}, time.Minute},
		"The third in a row": {"Twice, and twice again.", many(aborted, 3), 4 * time.Minute},
		"A long row":         {"An hour at most.", many(aborted, 90), time.Hour},
		"A long row with something undone": {"Each time objects were changed and set back.", many(undone, 90),
			24 * time.Hour},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := circuit.ReplanAfter(tc.ends); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
