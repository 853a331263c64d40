package remediate

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// rollBack begins to undo the wave because of the targets that failed.
func (o Observation) rollBack(failed []Mark) Intent {
	first := failed[0]
	message := fmt.Sprintf("%s failed: %s: %s; undoing the wave's writes", o.label(o.Status.Wave),
		name(o.Targets[first.Target].Object), first.Message)
	kind := OutcomeFailed
	if o.Status.Wave == 0 {
		kind = OutcomeCanaryFailed
	}
	return Intent{
		Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave,
		Reason: v1alpha1.ReasonVerificationFailed, Message: message, Marks: failed,
		Outcomes: []Outcome{
			{Type: kind, Key: o.key(fmt.Sprintf("w%d/failed", o.Status.Wave)), Count: int32(len(failed)),
				Namespaces: o.namespaces(failed), Message: message},
			{Type: OutcomePlanFailed, Key: o.key("plan"), Count: 1, Namespaces: o.namespaces(failed), Message: message},
		},
	}
}

// stepRollingBack undoes the wave's writes, last first. Neither a breaker nor a
// changed policy stops it, and an API error is tried again for ever.
func stepRollingBack(o Observation) Intent {
	var now []int
	var wait members
	for i, t := range slices.Backward(o.Targets) {
		if t.Wave != o.Status.Wave || t.State == v1alpha1.TargetPending || !unsettled(t.State) {
			continue
		}
		if t.NextAttemptAt.After(o.Now) {
			if wait.nextTry.IsZero() || t.NextAttemptAt.Before(wait.nextTry) {
				wait.nextTry = t.NextAttemptAt
			}
			continue
		}
		now = append(now, i)
	}
	keep := Intent{Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave, Reason: o.Status.Reason, Message: o.Status.Message}
	switch {
	case len(now) > 0:
		keep.Revert = atMost(now, o.Spec.Strategy.MaxConcurrent)
		return keep
	case !wait.nextTry.IsZero():
		keep.Wait = until(o.Now, wait.nextTry)
		return keep
	default:
		return o.rolledBack()
	}
}

func (o Observation) rolledBack() Intent {
	reverted, conflicts := o.count(v1alpha1.TargetReverted), o.count(v1alpha1.TargetRevertConflict)
	intent := Intent{Phase: v1alpha1.PhaseRolledBack, Wave: o.Status.Wave, Reason: o.Status.Reason,
		Message: fmt.Sprintf("%s undone; no other wave was begun. %s", writes(reverted), o.Status.Message),
		Marks:   o.notAttempted("an earlier wave was rolled back")}
	if o.Status.Wave > 0 {
		intent.Message = fmt.Sprintf("%s of %s undone; %d targets of earlier waves stay mended. %s",
			writes(reverted), o.label(o.Status.Wave), o.count(v1alpha1.TargetDone), o.Status.Message)
	}
	if conflicts > 0 {
		intent.Phase = v1alpha1.PhaseRollbackIncomplete
		intent.Message = fmt.Sprintf("%s undone, %d couldn't be: somebody else has changed the same fields since; "+
			"compare the slices' records with the objects. %s", writes(reverted), conflicts, o.Status.Message)
	}
	return intent
}

func writes(n int) string {
	if n == 1 {
		return "1 write"
	}
	return fmt.Sprintf("%d writes", n)
}
