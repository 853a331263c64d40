// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/prose"
)

// failure is why a wave failed, and what the breakers are to count of it.
type failure struct {
	reason, message string
	// marks tell the targets that failed; none when metrics speak of the whole wave.
	marks      []Mark
	count      int32
	namespaces map[string]int32
	// failedIn are the namespaces where it happened, cluster scope as an empty one.
	failedIn []string
	// unanswered: nothing could be observed, which the breakers don't count.
	unanswered bool
}

// targets are those that failed, those that speak against the fix first.
func (f failure) targets() []int {
	var against, others []int
	for _, m := range f.marks {
		if circuit.SpeaksOfFix(m.Reason) {
			against = append(against, m.Target)
		} else {
			others = append(others, m.Target)
		}
	}
	return append(against, others...)
}

func (o Observation) verificationFailed(failed []Mark) failure {
	first := failed[0]
	for i := range failed {
		if failed[i].State == v1alpha1.TargetVerified {
			failed[i].State = v1alpha1.TargetApplied // verified no more: it counts as in flight
		}
	}
	against := slices.DeleteFunc(slices.Clone(failed), func(m Mark) bool { return !circuit.SpeaksOfFix(m.Reason) })
	if len(against) == 0 {
		return failure{reason: v1alpha1.ReasonNoAnswer, marks: failed, unanswered: true, failedIn: o.places(failed),
			message: fmt.Sprintf("%s: %s; that says nothing of the fix", o.Targets[first.Target].Object.String(),
				first.Message)}
	}
	first = against[0]
	return failure{reason: v1alpha1.ReasonVerificationFailed, marks: failed, count: int32(len(against)),
		namespaces: o.namespaces(against), failedIn: o.places(against),
		message: fmt.Sprintf("%s: %s", o.Targets[first.Target].Object.String(), first.Message)}
}

// analysisFailed blames each namespace that the wave has changed once: metrics
// don't say which target it was.
func (o Observation) analysisFailed(m Members) failure {
	f := failure{reason: v1alpha1.ReasonAnalysisFailed, count: 1, namespaces: map[string]int32{},
		message: o.Analysis.Message}
	var wave []Mark
	for _, i := range append(append([]int{}, m.Applied...), m.Verified...) {
		wave = append(wave, Mark{Target: i})
		if namespace := o.Targets[i].Object.Namespace; namespace != "" {
			f.namespaces[namespace] = 1
		}
	}
	f.failedIn = o.places(wave)
	return f
}

// fail begins to undo what a failed wave calls for, or holds it when the
// strategy leaves that to a person. The breakers count both alike.
func (o Observation) fail(f failure) Intent {
	message := fmt.Sprintf("%s failed: %s", o.Label(o.Status.Wave), f.message)
	kind := circuit.TargetFailed
	if CanaryWave(o.Spec.Plan, o.Status.Wave) {
		kind = circuit.CanaryFailed
	}
	intent := Intent{Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave, Reason: f.reason, Marks: f.marks,
		FailedIn: f.failedIn, Failed: f.targets(),
		Message: message + "; " + o.undoing()}
	if o.Spec.Plan.Rollout.OnFailure == v1alpha1.FailureHold {
		intent.Phase, intent.HeldFrom, intent.Wait = v1alpha1.PhaseHeld, v1alpha1.PhaseVerifying,
			o.poll(holdPoll, heldLooks)
		intent.Message = fmt.Sprintf("%s; nothing is undone until a person decides: evenkeel rollout abort undoes it, "+
			"evenkeel rollout retry verifies it once more", message)
	}
	if f.unanswered {
		return intent
	}
	intent.Outcomes = []Outcome{
		{Type: kind, Key: o.Key(fmt.Sprintf("w%d/failed", o.Status.Wave)), Count: f.count, Namespaces: f.namespaces,
			Message: message},
		{Type: circuit.PlanFailed, Key: o.Key("plan"), Count: 1, Namespaces: f.namespaces, Message: message},
	}
	return intent
}

// abort ends the plan as a person wants it: what the strategy's scope names is
// undone. It is no failure, and the breakers count nothing.
func (o Observation) abort() Intent {
	if !slices.ContainsFunc(o.Targets, o.undoes) {
		return o.ended(v1alpha1.PhaseAborted, v1alpha1.ReasonAborted, o.Abort)
	}
	return o.undo(o.abortReason(), o.Abort)
}

// abortReason tells an undo of the whole plan from the end of a rollout.
func (o Observation) abortReason() string {
	if o.Spec.WantsUndone() {
		return v1alpha1.ReasonUndone
	}
	return v1alpha1.ReasonAborted
}

// undo begins a rollback that no failure calls for.
func (o Observation) undo(reason, why string) Intent {
	return Intent{Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave, Reason: reason,
		Message: fmt.Sprintf("%s: %s; %s", o.Label(o.Status.Wave), why, o.undoing())}
}

// undoesAll says whether a rollback undoes the writes of the whole plan: the
// strategy wants it with rollbackScope All, or a person with desiredState Undone.
func (o Observation) undoesAll() bool {
	return o.Spec.Plan.Rollout.RollbackScope == v1alpha1.RollbackAll || o.Spec.WantsUndone()
}

// undoes says whether a rollback undoes a target's write: those of the wave at
// work, or those of the whole plan.
func (o Observation) undoes(t TargetView) bool {
	all := o.undoesAll()
	switch t.State {
	case v1alpha1.TargetIntent, v1alpha1.TargetApplied, v1alpha1.TargetVerified:
		return all || t.Wave == o.Status.Wave
	case v1alpha1.TargetDone:
		return all
	case v1alpha1.TargetPending, v1alpha1.TargetPreviewed, v1alpha1.TargetSkipped, v1alpha1.TargetFailed,
		v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict:
		return false
	}
	return false
}

func (o Observation) undoing() string {
	if o.undoesAll() {
		return "undoing all writes of the plan"
	}
	return "undoing the wave's writes"
}

// stepRollingBack undoes writes, last first, as far as the budgets have room (see
// PaceUndo). Neither a breaker nor a pause nor a changed policy stops it, and an
// API error is tried again for ever. It ends when what was undone is well again,
// or has had the time for it.
func stepRollingBack(o Observation) Intent {
	keep := Intent{Phase: v1alpha1.PhaseRollingBack, Wave: o.Status.Wave, Reason: o.Status.Reason,
		Message: o.Status.Message}
	now, full, nextTry, stuck := o.toUndo()
	marks, recovering := o.recovered()
	keep.Stuck, keep.Marks = stuck, marks
	switch {
	case len(now) > 0:
		keep.Revert = atMost(now, o.Spec.Plan.Rollout.MaxInFlight)
	case len(recovering)+full > 0:
		keep.Wait = o.poll(verifyPoll, len(recovering)+full)
	case !nextTry.IsZero():
		keep.Wait = Until(o.Now, nextTry)
	default:
		end := o.rolledBack()
		end.Marks = append(marks, end.Marks...)
		return end
	}
	return keep
}

// toUndo are the targets that may be undone now, the last first, how many wait for
// room, and when the first of those is due that an API error has put off.
func (o Observation) toUndo() (now []int, full int, nextTry time.Time, stuck bool) {
	for i, t := range slices.Backward(o.Targets) {
		if !o.undoes(t) {
			continue
		}
		stuck = stuck || t.Attempts >= StuckAfter
		switch {
		case t.NextAttemptAt.After(o.Now):
			if nextTry.IsZero() || t.NextAttemptAt.Before(nextTry) {
				nextTry = t.NextAttemptAt
			}
		case t.Barred != "":
			full++
		default:
			now = append(now, i)
		}
	}
	return now, full, nextTry, stuck
}

func (o Observation) rolledBack() Intent {
	reverted, conflicts := o.Count(v1alpha1.TargetReverted), o.Count(v1alpha1.TargetRevertConflict)
	why := strings.TrimSuffix(o.Status.Message, "; "+o.undoing()) // that is over
	intent := o.ended(v1alpha1.PhaseRolledBack, o.Status.Reason, "")
	intent.Marks = o.notAttempted("the plan was rolled back before this target's turn")
	switch {
	case conflicts > 0:
		intent.Phase = v1alpha1.PhaseRollbackIncomplete
		intent.Message = fmt.Sprintf("%s undone, %d couldn't be: %s. %s", writes(reverted), conflicts,
			o.notUndone(conflicts), why)
	case o.undoesAll():
		intent.Message = fmt.Sprintf("%s undone, of all waves that were begun. %s", writes(reverted), why)
	case o.Status.Wave > 0:
		intent.Message = fmt.Sprintf("%s of %s undone; %s of earlier waves %s fixed. %s", writes(reverted),
			o.Label(o.Status.Wave), prose.Count(o.Count(v1alpha1.TargetDone), "target"),
			prose.Verb(o.Count(v1alpha1.TargetDone), "stays", "stay"), why)
	default:
		intent.Message = fmt.Sprintf("%s undone; no other wave was begun. %s", writes(reverted), why)
	}
	intent.Message += o.notTouched()
	return intent
}

// notUndone says why writes couldn't be undone.
func (o Observation) notUndone(conflicts int) string {
	counts := map[string]int{}
	for _, t := range o.Targets {
		if t.State == v1alpha1.TargetRevertConflict {
			counts[t.Reason]++
		}
	}
	var parts []string
	others := conflicts
	for _, why := range []struct{ reason, ofAll, ofSome string }{
		{v1alpha1.ReasonNoUndo, "what was done to them has no undo; the slices' records say what it was",
			"what was done to %d has no undo"},
		{v1alpha1.ReasonNotServed,
			"the API server doesn't serve their kind any more; is it served again, compare the " +
				"slices' records with the objects",
			"the kind of %d isn't served any more"},
	} {
		if n := counts[why.reason]; n > 0 {
			parts, others = append(parts, someOf(n, conflicts, why.ofAll, why.ofSome)), others-n
		}
	}
	if others > 0 {
		const changed = "somebody else has changed the same fields since, or others with them; compare the slices' " +
			"records with the objects"
		parts = append(parts, someOf(others, conflicts, changed, "of the others, "+changed))
	}
	return strings.Join(parts, "; ")
}

// someOf speaks of some of several targets, or of all.
func someOf(n, all int, ofAll, ofSome string) string {
	switch {
	case n == all:
		return ofAll
	case strings.Contains(ofSome, "%d"):
		return fmt.Sprintf(ofSome, n)
	default:
		return ofSome
	}
}

func writes(n int) string { return prose.Count(n, "write") }

// StuckAfter is how many tries to undo a write may fail until people are told.
const StuckAfter = 5
