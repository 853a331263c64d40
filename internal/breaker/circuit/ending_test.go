// SPDX-License-Identifier: Apache-2.0

package circuit_test

import (
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

func TestWhatAnEndMeans(t *testing.T) {
	ended := func(phase v1alpha1.RemediationPhase, reason string, failed int32) v1alpha1.RemediationStatus {
		return v1alpha1.RemediationStatus{Phase: phase, Reason: reason, Counts: v1alpha1.TargetCounts{Failed: failed}}
	}
	cases := map[string]struct {
		reason string
		end    v1alpha1.RemediationStatus
		blocks bool
	}{
		"Rolled back": {
			"It did harm.", ended(v1alpha1.PhaseRolledBack, v1alpha1.ReasonVerificationFailed, 0), true},
		"Rolled back, for nothing was read": {
			"Nothing speaks against the fix.", ended(v1alpha1.PhaseRolledBack, v1alpha1.ReasonNoAnswer, 0), false},
		"Aborted by an outage": {
			"However many targets met it.", ended(v1alpha1.PhaseAborted, v1alpha1.ReasonNoAnswer, 10), false},
		"Aborted for ten bad candidates": {
			"The fix is at fault.", ended(v1alpha1.PhaseAborted, v1alpha1.ReasonNoViableCanary, 10), true},
		"Aborted for nine": {
			"Those wait by themselves.", ended(v1alpha1.PhaseAborted, v1alpha1.ReasonNoViableCanary, 9), false},
		"Aborted for ten fights": {
			"To go on would be to take part.", ended(v1alpha1.PhaseAborted, v1alpha1.ReasonLostToFights, 10), true},
		"Aborted for nine fights": {
			"Those wait by themselves.", ended(v1alpha1.PhaseAborted, v1alpha1.ReasonLostToFights, 9), false},
		"Rejected": {
			"A person's word.", ended(v1alpha1.PhaseAborted, v1alpha1.ReasonRejected, 0), true},
		"Succeeded with failures": {
			"Those wait by themselves.", ended(v1alpha1.PhaseSucceeded, v1alpha1.ReasonSomeTargetsFailed, 50), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := circuit.Blocks(tc.end); got != tc.blocks {
				t.Errorf("%s: blocks %t, want %t", tc.reason, got, tc.blocks)
			}
		})
	}
}

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
