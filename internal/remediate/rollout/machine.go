// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Row is one phase of the rollout: what it does, and which phases may follow.
type Row struct {
	Phase v1alpha1.RemediationPhase
	// Step decides what to do in this phase. It is pure.
	Step func(Observation) Intent
	// Next are the phases that Step may answer with, besides staying.
	Next []v1alpha1.RemediationPhase
}

// Table is the rollout, top to bottom. What has ended rests, until a person asks
// to undo it; a phase without a row rests for ever.
func Table() []Row {
	return []Row{
		{v1alpha1.PhasePlanned, stepPlanned, phases(
			v1alpha1.PhasePreviewing, v1alpha1.PhaseAwaitingApproval, v1alpha1.PhaseApplying, v1alpha1.PhaseHeld,
			v1alpha1.PhaseSucceeded, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseAwaitingApproval, stepAwaitingApproval, phases(
			v1alpha1.PhaseApplying, v1alpha1.PhaseHeld, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhasePreviewing, stepPreviewing, phases(
			v1alpha1.PhasePreviewed, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseApplying, stepApplying, phases(
			v1alpha1.PhaseVerifying, v1alpha1.PhaseSoaking, v1alpha1.PhaseHeld, v1alpha1.PhaseRollingBack,
			v1alpha1.PhaseSucceeded,
			v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseVerifying, stepVerifying, phases(
			v1alpha1.PhaseApplying, v1alpha1.PhaseSoaking, v1alpha1.PhaseHeld, v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseSoaking, stepSoaking, phases(
			v1alpha1.PhaseVerifying, v1alpha1.PhaseApplying, v1alpha1.PhaseHeld, v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseHeld, stepHeld, phases(
			v1alpha1.PhasePlanned, v1alpha1.PhaseApplying, v1alpha1.PhaseVerifying, v1alpha1.PhaseSoaking,
			v1alpha1.PhaseRollingBack, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseRollingBack, stepRollingBack, phases(
			v1alpha1.PhaseRolledBack, v1alpha1.PhaseRollbackIncomplete)},
		{v1alpha1.PhaseSucceeded, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseSuperseded, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseAborted, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseRolledBack, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseRollbackIncomplete, stepEnded, phases(v1alpha1.PhaseRollingBack)},
	}
}

// Step decides the rollout's next step from what was observed. A new plan (empty
// phase) is Planned. It errs on a phase that the table doesn't know, and on an
// answer that the table doesn't allow.
func Step(o Observation) (Intent, error) {
	if o.Status.Phase == "" {
		o.Status.Phase = v1alpha1.PhasePlanned
	}
	for _, row := range Table() {
		if row.Phase != o.Status.Phase {
			continue
		}
		intent := o.afterLandings(row.Step(o))
		if intent.Phase != row.Phase && !slices.Contains(row.Next, intent.Phase) {
			return Intent{}, fmt.Errorf("phase %s answered with %s, which the table doesn't allow", row.Phase,
				intent.Phase)
		}
		return intent, nil
	}
	return Intent{}, fmt.Errorf("phase %q isn't in the table", o.Status.Phase)
}

func phases(p ...v1alpha1.RemediationPhase) []v1alpha1.RemediationPhase { return p }
