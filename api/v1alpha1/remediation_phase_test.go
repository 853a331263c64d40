// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import "testing"

func TestThePhasesThatPeopleAreAskedAbout(t *testing.T) {
	for phase, want := range map[RemediationPhase]PhaseFacts{
		PhasePlanned:            {},
		PhaseAwaitingApproval:   {Waits: true, AsksPerson: true},
		PhaseHeld:               {Waits: true, Holds: true},
		PhaseVerifying:          {},
		PhaseRollingBack:        {Failing: true},
		PhaseSucceeded:          {},
		PhaseSuperseded:         {},
		PhaseAborted:            {Failing: true},
		PhaseRolledBack:         {Failing: true},
		PhaseRollbackIncomplete: {Failing: true, Incomplete: true},
		"OfALaterVersion":       {},
	} {
		facts := phase.Facts()
		got := PhaseFacts{Waits: facts.Waits, AsksPerson: facts.AsksPerson, Holds: facts.Holds, Failing: facts.Failing,
			Incomplete: facts.Incomplete}
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
