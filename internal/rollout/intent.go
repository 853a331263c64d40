// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"maps"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

// Idle says whether a step only waits for what lets a write begin.
func (i Intent) Idle() bool {
	if i.Wait == 0 || len(i.Write)+len(i.Resolve)+len(i.Revert)+len(i.Preview)+len(i.Marks) > 0 {
		return false
	}
	facts := i.Phase.Facts()
	return facts.Waits || facts.Writes || i.Phase == v1alpha1.PhasePlanned
}

// Harmed says whether the outcome speaks of targets that failed.
func (o Outcome) Harmed() bool {
	return o.Type == circuit.TargetFailed || o.Type == circuit.CanaryFailed
}

// Ends says whether the outcome is that of a whole plan.
func (o Outcome) Ends() bool { return o.Type == circuit.PlanSucceeded || o.Type == circuit.PlanFailed }

// Places are where an outcome's targets are, in turns: a namespace for each, or all of
// them where it isn't known which it was, as of metrics. Nil is cluster scope.
func (o Outcome) Places() [][]string {
	all := slices.Sorted(maps.Keys(o.Namespaces))
	if int(o.Count) < len(all) {
		return [][]string{all}
	}
	within := int32(0)
	var turns [][]string
	for _, namespace := range all {
		within += o.Namespaces[namespace]
		turns = append(turns, []string{namespace})
	}
	if within < o.Count || len(turns) == 0 {
		turns = append(turns, nil)
	}
	return turns
}

// Intent is what a phase wants done, and where the rollout then stands.
type Intent struct {
	Phase v1alpha1.RemediationPhase
	Wave  int32
	// Reason and Message tell people what is going on, or what is awaited.
	Reason, Message string
	// HealthySince is since when the wave has been verified without a break.
	HealthySince time.Time
	// HeldFrom is the phase to go back to, in phase Held. A wave that failed is
	// held from Verifying, one whose metrics give no answer from Soaking.
	HeldFrom v1alpha1.RemediationPhase
	// Anew gives the wave's deadlines and its analysis a fresh start.
	Anew bool
	// Retry is the spec.retryToken that is acted upon; empty: none.
	Retry string
	// Stuck says that a rollback needs a person to go on.
	Stuck bool
	// Resolve are targets whose recorded write must be found out about.
	Resolve []int
	// Write are targets to write.
	Write []int
	// Preview are targets to try as a server-side dry run only.
	Preview []int
	// Revert are targets whose write is to be undone, in this order.
	Revert []int
	// Marks are changes of records that need no I/O on the target.
	Marks []Mark
	// Failed are targets whose verification has failed just now, those that speak against the fix first.
	Failed []int
	// Outcomes are what the circuit breakers are to count.
	Outcomes []Outcome
	// FailedIn are the namespaces of the targets that failed the wave, or couldn't be a
	// canary; an empty one is cluster scope. Nil leaves what was known before.
	FailedIn []string
	// Wait is how long to wait before looking again; zero means at once.
	Wait time.Duration
}

// Mark changes a target's record.
type Mark struct {
	Target          int
	State           v1alpha1.TargetState
	Reason, Message string
	// Wave is set when the target is drawn into another wave.
	Wave *int32
	// Recovered ends the recovery of a target whose write was undone; its reason
	// stays, and Message is added to what its record says.
	Recovered bool
}

// Outcome is one event for the circuit breakers.
type Outcome struct {
	Type circuit.EventType
	// Key tells this outcome from every other of the plan, so that it is never
	// counted twice.
	Key string
	// Count is the number of targets that the outcome speaks of.
	Count int32
	// Namespaces counts them by the namespace that they live in, for the
	// namespaces' breakers; cluster-scoped targets are in none. Of a plan's
	// success it counts what was fixed there, of its failure what failed there.
	Namespaces map[string]int32
	// Message says what happened, for the breaker's status.
	Message string
}

// Progressed says whether a step brings the plan forward: a target is begun, settled
// or undone, a wave or a rollback begins, or a person or the end of a freeze lets the plan go on. Phases that
// come and go, tries that fail and metrics that answer on and off bring it nowhere.
func Progressed(s *v1alpha1.RemediationStatus, intent Intent, now v1alpha1.TargetCounts) bool {
	switch {
	case s.ProgressedTime == nil, intent.Wave != s.Wave, intent.Retry != "":
		return true
	case now.Pending < s.Counts.Pending, settledIn(now) > settledIn(s.Counts):
		return true
	case intent.Phase == v1alpha1.PhaseRollingBack && s.Phase != intent.Phase:
		return true
	}
	answered := s.Phase == v1alpha1.PhaseAwaitingApproval && intent.Phase != s.Phase
	// What nothing could go on in has ended: a person's pause, or a freeze.
	held := s.Reason == v1alpha1.ReasonPaused || s.Reason == v1alpha1.ReasonFrozen
	return answered || held && intent.Reason != s.Reason || intent.Phase.Final()
}

func settledIn(c v1alpha1.TargetCounts) int32 {
	return c.Done + c.Skipped + c.Failed + c.Reverted + c.RevertConflict
}
