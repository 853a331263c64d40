package remediate

import (
	"cmp"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// holdPoll is how often a held plan looks whether it may go on.
const holdPoll = 5 * time.Second

// stepPlanned begins the rollout, or holds it.
func stepPlanned(o Observation) Intent {
	switch {
	case o.Stop != "":
		return o.superseded()
	case o.Spec.Strategy.Mode == v1alpha1.RemediationDryRun:
		return Intent{Phase: v1alpha1.PhasePreviewing, Reason: "DryRun", Message: "trying every fix as a server-side dry run"}
	case o.settled():
		return o.succeeded() // it is all left to its owners: nothing to approve or wait for
	case o.Gate.Closed:
		return o.held()
	default:
		return Intent{Phase: v1alpha1.PhaseApplying, Reason: v1alpha1.ReasonWaveInProgress, Message: "canary: beginning"}
	}
}

// stepPreviewing tries the fixes as dry runs, a few at a time, and writes nothing.
func stepPreviewing(o Observation) Intent {
	if o.Stop != "" {
		return o.superseded()
	}
	var pending []int
	var wait time.Duration
	for i, t := range o.Targets {
		if t.State != v1alpha1.TargetPending {
			continue
		}
		if t.NextAttemptAt.After(o.Now) {
			wait = t.NextAttemptAt.Sub(o.Now)
			continue
		}
		pending = append(pending, i)
	}
	if len(pending) > 0 {
		return Intent{Phase: v1alpha1.PhasePreviewing, Reason: "DryRun", Preview: atMost(pending, o.Spec.Strategy.MaxConcurrent),
			Message: "trying every fix as a server-side dry run"}
	}
	if wait > 0 {
		return Intent{Phase: v1alpha1.PhasePreviewing, Reason: "DryRun", Message: "the API server failed; trying again", Wait: wait}
	}
	return Intent{Phase: v1alpha1.PhasePreviewed, Reason: v1alpha1.ReasonAllTargetsSettled,
		Message: "nothing was written; the slices hold each fix. Set spec.remediation.mode: Automatic on the policy to roll it out"}
}

// stepHeld looks whether what the plan waits for has come.
func stepHeld(o Observation) Intent {
	from := o.Status.HeldFrom
	if from != v1alpha1.PhaseApplying {
		from = v1alpha1.PhasePlanned
	}
	switch {
	case o.Stop != "":
		return o.superseded()
	case o.Gate.Closed:
		return o.held()
	default:
		return Intent{Phase: from, Wave: o.Status.Wave, Reason: v1alpha1.ReasonWaveInProgress,
			Message: "the hold has ended; going on with " + o.label(o.Status.Wave)}
	}
}

// held waits for the gate.
func (o Observation) held() Intent {
	return Intent{Phase: v1alpha1.PhaseHeld, Wave: o.Status.Wave, Reason: o.Gate.Reason, Message: o.Gate.Message, Wait: holdPoll}
}

// superseded ends the plan: nothing is in flight, and nothing more is begun.
func (o Observation) superseded() Intent {
	return Intent{Phase: v1alpha1.PhaseSuperseded, Wave: o.Status.Wave, Reason: cmp.Or(o.StopReason, v1alpha1.ReasonPolicyChanged),
		Message: o.Stop, Marks: o.notAttempted(o.Stop)}
}

func atMost(list []int, n int32) []int {
	if int32(len(list)) > n {
		return list[:n]
	}
	return list
}
