// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"cmp"
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Need is one thing that a phase must know before it decides.
type Need string

// What phases need to know.
const (
	NeedApproval     Need = "approval"      // what people have answered
	NeedGate         Need = "gate"          // breakers, windows, the policy, pauses
	NeedMetrics      Need = "metrics"       // what metrics say of the wave
	NeedBudgets      Need = "budgets"       // what budgets leave, over all plans
	NeedTargets      Need = "targets"       // each written target, as it is now
	NeedRecovery     Need = "recovery"      // whether what is undone recovers
	NeedRollbackRoom Need = "rollback room" // which rollback may write now, over all plans
)

// Row is one phase of the rollout: what it must know, what it does, and which phases may
// follow. What everybody else asks of a phase (whether it is final, waits, writes) stands in
// v1alpha1.PhaseFacts.
type Row struct {
	Phase v1alpha1.RemediationPhase
	// Needs are observed before Step, in this order: the gate isn't asked before the plan
	// is approved.
	Needs []Need
	// Held are the needs of a hold that came from this phase.
	Held []Need
	// Step decides what to do in this phase. It is pure.
	Step func(Observation) Intent
	// Next are the phases that Step may answer with, besides staying.
	Next []v1alpha1.RemediationPhase
}

// Table is the rollout, top to bottom. What has ended rests, until a person asks
// to undo it; a phase without a row rests for ever.
func Table() []Row {
	approval := []Need{NeedApproval, NeedGate}
	return []Row{
		{v1alpha1.PhasePlanned, approval, approval, stepPlanned, phases(
			v1alpha1.PhasePreviewing, v1alpha1.PhaseAwaitingApproval, v1alpha1.PhaseApplying, v1alpha1.PhaseHeld,
			v1alpha1.PhaseSucceeded, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseAwaitingApproval, approval, approval, stepAwaitingApproval, phases(
			v1alpha1.PhaseApplying, v1alpha1.PhaseHeld, v1alpha1.PhaseRollingBack, v1alpha1.PhaseSuperseded,
			v1alpha1.PhaseAborted)},
		{v1alpha1.PhasePreviewing, nil, approval, stepPreviewing, phases(
			v1alpha1.PhasePreviewed, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseApplying, []Need{NeedMetrics, NeedGate, NeedBudgets}, []Need{NeedMetrics, NeedGate},
			stepApplying, phases(
				v1alpha1.PhaseAwaitingApproval, v1alpha1.PhaseVerifying, v1alpha1.PhaseSoaking, v1alpha1.PhaseHeld,
				v1alpha1.PhaseRollingBack,
				v1alpha1.PhaseSucceeded, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseVerifying, []Need{NeedTargets, NeedMetrics, NeedGate}, nil, // a person ends its hold
			stepVerifying, phases(
				v1alpha1.PhaseApplying, v1alpha1.PhaseSoaking, v1alpha1.PhaseHeld, v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseSoaking, []Need{NeedTargets, NeedMetrics}, []Need{NeedTargets, NeedMetrics}, // begins no write
			stepSoaking, phases(
				v1alpha1.PhaseVerifying, v1alpha1.PhaseApplying, v1alpha1.PhaseHeld, v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseHeld, nil, approval, stepHeld, phases( // it needs what the phase needs that it came from
			v1alpha1.PhasePlanned, v1alpha1.PhaseApplying, v1alpha1.PhaseVerifying, v1alpha1.PhaseSoaking,
			v1alpha1.PhaseRollingBack, v1alpha1.PhaseSuperseded, v1alpha1.PhaseAborted)},
		{v1alpha1.PhaseRollingBack, []Need{NeedRecovery, NeedRollbackRoom}, approval, stepRollingBack, phases(
			v1alpha1.PhaseRolledBack, v1alpha1.PhaseRollbackIncomplete)},
		{v1alpha1.PhaseSucceeded, nil, approval, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseSuperseded, nil, approval, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseAborted, nil, approval, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseRolledBack, nil, approval, stepEnded, phases(v1alpha1.PhaseRollingBack)},
		{v1alpha1.PhaseRollbackIncomplete, nil, approval, stepEnded, phases(v1alpha1.PhaseRollingBack)},
	}
}

// Step decides the rollout's next step from what was observed. A new plan (empty
// phase) is Planned. It errs on a phase that the table doesn't know, and on an
// answer that the table doesn't allow.
func Step(o Observation) (Intent, error) {
	o.Status.Phase = cmp.Or(o.Status.Phase, v1alpha1.PhasePlanned)
	row, known := rowOf(o.Status.Phase)
	if !known {
		return Intent{}, fmt.Errorf("phase %q isn't in the table", o.Status.Phase)
	}
	intent := o.afterLandings(row.Step(o))
	if intent.Phase != row.Phase && !slices.Contains(row.Next, intent.Phase) {
		return Intent{}, fmt.Errorf("phase %s answered with %s, which the table doesn't allow", row.Phase,
			intent.Phase)
	}
	return intent, nil
}

// Needs are what must be observed before the next step of a plan, in order.
func Needs(s v1alpha1.RemediationStatus) []Need {
	phase := cmp.Or(s.Phase, v1alpha1.PhasePlanned)
	if phase == v1alpha1.PhaseHeld {
		from, known := rowOf(s.HeldFrom)
		if !known {
			from, _ = rowOf(v1alpha1.PhasePlanned)
		}
		return from.Held
	}
	row, _ := rowOf(phase)
	return row.Needs
}

func rowOf(phase v1alpha1.RemediationPhase) (Row, bool) {
	for _, row := range Table() {
		if row.Phase == phase {
			return row, true
		}
	}
	return Row{}, false
}

func phases(p ...v1alpha1.RemediationPhase) []v1alpha1.RemediationPhase { return p }

// stepEnded leaves an ended plan as it is, unless a person wants it undone and
// something of it stands. No breaker, window, pause or policy is asked: what
// people take for harm must always be undoable.
func stepEnded(o Observation) Intent {
	if !o.Spec.WantsUndone() || !slices.ContainsFunc(o.Targets, o.undoes) {
		return Intent{Phase: o.Status.Phase, Wave: o.Status.Wave, Reason: o.Status.Reason, Message: o.Status.Message,
			Wait: o.poll(holdPoll, heldLooks)}
	}
	return Intent{Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave, Reason: v1alpha1.ReasonUndone,
		Message: o.Abort + "; " + o.undoing()}
}
