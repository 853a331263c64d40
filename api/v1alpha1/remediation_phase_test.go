// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "testing"

func TestThePhasesThatPeopleAreAskedAbout(t *testing.T) {
	for phase, want := range map[RemediationPhase]PhaseFacts{
		PhasePlanned:            {},
		PhaseAwaitingApproval:   {Waits: true, AsksPerson: true},
		PhaseHeld:               {Waits: true, Holds: true},
		PhaseApplying:           {Writes: true},
		PhaseVerifying:          {},
		PhaseSoaking:            {},
		PhaseRollingBack:        {Failing: true},
		PhaseSucceeded:          {},
		PhaseSuperseded:         {},
		PhaseAborted:            {Failing: true},
		PhaseRolledBack:         {Failing: true},
		PhaseRollbackIncomplete: {Failing: true, Incomplete: true},
		"OfALaterVersion":       {},
	} {
		facts := phase.Facts()
		got := PhaseFacts{Writes: facts.Writes, Waits: facts.Waits, AsksPerson: facts.AsksPerson, Holds: facts.Holds,
			Failing: facts.Failing, Incomplete: facts.Incomplete}
		if got != want {
			t.Errorf("%s: %+v, want %+v", phase, got, want)
		}
	}
}

func TestAWaveHasFailedThatIsHeldFromItsVerification(t *testing.T) {
	for name, tc := range map[string]struct {
		status RemediationStatus
		want   bool
	}{
		"held after its verification": {RemediationStatus{Phase: PhaseHeld, HeldFrom: PhaseVerifying}, true},
		"held before it is written":   {RemediationStatus{Phase: PhaseHeld, HeldFrom: PhaseApplying}, false},
		"verified at the moment":      {RemediationStatus{Phase: PhaseVerifying}, false},
		"retried, and rolling back":   {RemediationStatus{Phase: PhaseRollingBack, HeldFrom: PhaseVerifying}, false},
	} {
		if got := tc.status.WaveFailed(); got != tc.want {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

func TestBlocksReplanning(t *testing.T) {
	ended := func(phase RemediationPhase, reason string, failed int32) RemediationStatus {
		return RemediationStatus{Phase: phase, Reason: reason, Counts: TargetCounts{Failed: failed}}
	}
	cases := map[string]struct {
		reason string
		end    RemediationStatus
		blocks bool
	}{
		"Rolled back": {
			"It did harm.", ended(PhaseRolledBack, ReasonVerificationFailed, 0), true},
		"Rolled back, for nothing was read": {
			"Nothing speaks against the fix.", ended(PhaseRolledBack, ReasonNoAnswer, 0), false},
		"Aborted by an outage": {
			"However many targets met it.", ended(PhaseAborted, ReasonNoAnswer, 10), false},
		"Aborted for ten bad candidates": {
			"The fix is at fault.", ended(PhaseAborted, ReasonNoViableCanary, 10), true},
		"Aborted for nine": {
			"Those wait by themselves.", ended(PhaseAborted, ReasonNoViableCanary, 9), false},
		"Aborted for ten fights": {
			"To go on would be to take part.", ended(PhaseAborted, ReasonLostToFights, 10), true},
		"Aborted for nine fights": {
			"Those wait by themselves.", ended(PhaseAborted, ReasonLostToFights, 9), false},
		"Rejected": {
			"A person's word.", ended(PhaseAborted, ReasonRejected, 0), true},
		"Succeeded with failures": {
			"Those wait by themselves.", ended(PhaseSucceeded, ReasonSomeTargetsFailed, 50), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.end.BlocksReplanning(); got != tc.blocks {
				t.Errorf("%s: blocks %t, want %t", tc.reason, got, tc.blocks)
			}
		})
	}
}
