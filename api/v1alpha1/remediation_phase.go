// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	"slices"
	"time"
)

// RemediationPhase is where a rollout stands, shown to people. It is never what a client
// must read: read the conditions. Later versions may have more phases.
// +kubebuilder:validation:MaxLength=64
type RemediationPhase string

const (
	// PhasePlanned means that the plan stands and nothing was tried.
	PhasePlanned RemediationPhase = "Planned"
	// PhaseAwaitingApproval means that a person must approve the plan (mode Manual), or its next wave
	// (a step with approval Required).
	PhaseAwaitingApproval RemediationPhase = "AwaitingApproval"
	// PhasePreviewing means that the fixes are tried as server-side dry runs (mode DryRun).
	PhasePreviewing RemediationPhase = "Previewing"
	// PhaseApplying means that targets of the wave are being written.
	PhaseApplying RemediationPhase = "Applying"
	// PhaseVerifying means that the wave's targets are being checked for policy and health.
	PhaseVerifying RemediationPhase = "Verifying"
	// PhaseSoaking means that the wave is verified and must stay so for the soak time.
	PhaseSoaking RemediationPhase = "Soaking"
	// PhaseHeld means that no new write may begin; the reason says what is awaited.
	PhaseHeld RemediationPhase = "Held"
	// PhaseRollingBack means that the failing wave's writes are being undone, or
	// those of the whole plan when a person asks for it (spec.desiredState: Undone).
	PhaseRollingBack RemediationPhase = "RollingBack"
	// PhasePreviewed means that a dry run ended. Nothing was written. Final.
	PhasePreviewed RemediationPhase = "Previewed"
	// PhaseSucceeded means that every wave was verified. Final.
	PhaseSucceeded RemediationPhase = "Succeeded"
	// PhaseRolledBack means that the failing wave was undone exactly. Final.
	PhaseRolledBack RemediationPhase = "RolledBack"
	// PhaseRollbackIncomplete means that some write couldn't be undone, because
	// somebody else has changed the same field since. Final; needs a person.
	PhaseRollbackIncomplete RemediationPhase = "RollbackIncomplete"
	// PhaseSuperseded means that the policy changed, and this plan stopped. Final.
	PhaseSuperseded RemediationPhase = "Superseded"
	// PhaseAborted means that the plan stopped before it proved anything, or that a person
	// rejected its next wave. Final.
	PhaseAborted RemediationPhase = "Aborted"
)

// PhaseFacts is what holds of a phase: the one place that display, conditions, alerts and
// budgets ask.
type PhaseFacts struct {
	// Final: nothing follows but an undo that a person asks for.
	Final bool
	// Complete: the plan has done what it was made for, which its condition Complete says;
	// a final phase without it is reported as Failed.
	Complete bool
	// Waits: nothing is in work, an answer or the end of a hold is awaited.
	Waits bool
	// AsksPerson: what it waits for is a person's answer.
	AsksPerson bool
	// Holds: what it waits for is the end of a hold, after which it goes on from status.heldFrom.
	Holds bool
	// Writes: targets of the wave are being written; writes of a wave begin in no other phase.
	Writes bool
	// InFlight: targets may have been written that nobody has verified yet.
	InFlight bool
	// Reverts: writes are being undone, or were.
	Reverts bool
	// Failing: it goes, or has ended, against what the plan was made for.
	Failing bool
	// Incomplete: it has ended, and leaves writes that only a person can undo.
	Incomplete bool
	// Event is the reason of the event that tells of the phase when it begins; empty for none.
	Event string
}

// Undoing says whether writes are being undone.
func (f PhaseFacts) Undoing() bool { return f.Reverts && !f.Final }

// Facts is what holds of a phase. A phase that isn't known, of a later version, is neither
// final nor does it wait, and may have written anything.
func (p RemediationPhase) Facts() PhaseFacts { //nolint:gocyclo // a table: a case a phase
	switch p {
	case PhasePlanned, PhasePreviewing:
		return PhaseFacts{}
	case PhaseAwaitingApproval:
		return PhaseFacts{Waits: true, AsksPerson: true, Event: EventApprovalRequested}
	case PhaseApplying:
		return PhaseFacts{Writes: true, InFlight: true}
	case PhaseVerifying, PhaseSoaking:
		return PhaseFacts{InFlight: true}
	case PhaseHeld:
		return PhaseFacts{Waits: true, Holds: true, Event: EventRemediationHeld}
	case PhaseRollingBack:
		return PhaseFacts{InFlight: true, Reverts: true, Failing: true, Event: EventRollingBack}
	case PhasePreviewed:
		return PhaseFacts{Final: true, Complete: true, Event: EventRemediationPreviewed}
	case PhaseSucceeded:
		return PhaseFacts{Final: true, Complete: true, Event: EventRemediationSucceeded}
	case PhaseRolledBack:
		return PhaseFacts{Final: true, Reverts: true, Failing: true, Event: EventRolledBack}
	case PhaseRollbackIncomplete:
		return PhaseFacts{Final: true, Reverts: true, Failing: true, Incomplete: true, Event: EventRollbackIncomplete}
	case PhaseSuperseded:
		return PhaseFacts{Final: true, Event: EventRemediationSuperseded}
	case PhaseAborted:
		return PhaseFacts{Final: true, Failing: true, Event: EventRemediationAborted}
	}
	return PhaseFacts{InFlight: true}
}

// Final says whether a phase is final: nothing follows it but an undo that a
// person asks for.
func (p RemediationPhase) Final() bool { return p.Facts().Final }

// Phase is where the rollout stands: one that the manager hasn't processed yet is planned.
func (r *Remediation) Phase() RemediationPhase {
	if r.Status.Phase == "" {
		return PhasePlanned
	}
	return r.Status.Phase
}

// IsFinal says whether the plan has ended: nothing follows but an undo that a person asks for.
func (r *Remediation) IsFinal() bool { return r.Phase().Final() }

// Rests says whether nothing is left to do for a plan: it has ended, and nobody wants undone
// what stands of it. One that is being deleted can't be held back any more.
func (r *Remediation) Rests() bool {
	return r.IsFinal() && (!r.Spec.WantsUndone() || !r.Stands() || r.DeletionTimestamp != nil)
}

// Stands says whether something that the plan has written stands, as far as its counts tell.
func (r *Remediation) Stands() bool {
	return r.Status.Counts.Done > 0 && r.Status.Phase != PhasePreviewed
}

// WaveFailed says whether the wave has failed and the plan waits for a person to decide (onFailure: Hold).
func (s *RemediationStatus) WaveFailed() bool {
	return s.Phase.Facts().Holds && s.HeldFrom == PhaseVerifying
}

// Succeeded says whether the plan has ended and leaves nothing for a person to do: all was
// fixed or tried, or the end is what people asked for, or another plan takes this one's
// place. Its condition Ready says the same, and so does the exit code of a watched rollout.
func (s *RemediationStatus) Succeeded() bool {
	switch asked := slices.Contains([]string{ReasonAborted, ReasonUndone, ReasonRejected}, s.Reason); {
	case s.Phase == PhaseSucceeded:
		return s.Counts.Failed == 0
	case s.Phase == PhaseRolledBack, s.Phase == PhaseAborted:
		return asked
	default:
		return s.Phase == PhasePreviewed || s.Phase == PhaseSuperseded
	}
}

// EndTime is when the plan ended; of one that doesn't say, when it was created.
func (r *Remediation) EndTime() time.Time {
	if r.Status.CompletionTime != nil {
		return r.Status.CompletionTime.Time
	}
	return r.CreationTimestamp.Time
}

// MaxCanaryFailures is how many candidates of the canary may fail one after the other
// before the plan blames the fix.
const MaxCanaryFailures = 10

// BlocksReplanning reports whether the way a plan ended keeps its revision from being
// planned again until the policy changes or a person asks for it: the plan did harm,
// showed that the fix doesn't work or is reverted wherever it is tried, or a person
// rejected or aborted it. An end whose cause passes by itself never blocks.
func (s RemediationStatus) BlocksReplanning() bool {
	switch {
	case s.Reason == ReasonNoAnswer:
		return false
	case s.Phase == PhaseRolledBack, s.Phase == PhaseRollbackIncomplete:
		return true
	case s.Phase != PhaseAborted:
		return false
	case s.Reason == ReasonRejected, s.Reason == ReasonAborted:
		return true
	default:
		// Fewer failures don't prove that the fix is wrong: only those targets wait.
		// With as many fights, another attempt would continue the fight.
		return (s.Reason == ReasonNoViableCanary || s.Reason == ReasonLostToFights) &&
			s.Counts.Failed >= MaxCanaryFailures
	}
}
