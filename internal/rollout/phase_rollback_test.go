// SPDX-License-Identifier: Apache-2.0

package rollout

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

func TestStepRollingBack(t *testing.T) {
	const reverted, conflict = v1alpha1.TargetReverted, v1alpha1.TargetRevertConflict
	rolling := func(wave int32, targets ...TargetView) Observation {
		o := situation(v1alpha1.PhaseRollingBack, wave, targets...)
		o.Status.Reason, o.Status.Message = v1alpha1.ReasonVerificationFailed, "it failed"
		return o
	}
	all := func(o *Observation) { o.Spec.Plan.Rollout.RollbackScope = v1alpha1.RollbackAll }
	runSteps(t, map[string]step{
		"the last first, a batch at a time": {
			reason: "two may be in flight, and earlier waves stay",
			in: rolling(1, target(0, done), target(1, written), target(1, verified), target(1, intended),
				target(1, failed), target(2, pending)),
			want: "RollingBack w1 VerificationFailed: it failed | revert [3 2]"},
		"all of the plan": {
			reason: "the strategy wants it", in: rolling(1, target(0, done), target(1, reverted), target(1, skipped)),
			given: all, want: "RollingBack w1 VerificationFailed: it failed | revert [0]"},
		"what was written of another wave": {
			reason: "only the wave at work is undone", in: rolling(1, target(2, written), target(1, reverted)),
			want: "RolledBack w1 VerificationFailed: 1 write of wave 1 of 2 undone; 0 targets of earlier waves stay " +
				"fixed. it failed"},
		"an API error": {
			reason: "it waits for the earliest next try",
			in: rolling(1, target(1, written, again(time.Minute)), target(1, written, again(2*time.Minute)),
				target(1, written, again(3*time.Minute))),
			want: "RollingBack w1 VerificationFailed: it failed | wait 1m0s"},
		"some can be undone now": {
			reason: "the others wait",
			in:     rolling(1, target(1, written, again(time.Minute)), target(1, written, again(0))),
			want:   "RollingBack w1 VerificationFailed: it failed | revert [1]"},
		"no room in a budget": {
			reason: "it looks again soon",
			in: rolling(1, target(1, written, barred(v1alpha1.ReasonBudgetSpent, "no room")),
				target(1, written, again(time.Minute))),
			want: "RollingBack w1 VerificationFailed: it failed | wait 1s"},
		"four tries have failed": {
			reason: "nobody needs to know yet", in: rolling(1, target(1, written, attempts(StuckAfter-1))),
			want: "RollingBack w1 VerificationFailed: it failed | revert [0]"},
		"five tries have failed": {
			reason: "people are told", in: rolling(1, target(1, written, attempts(StuckAfter)), target(1, written)),
			want: "RollingBack w1 VerificationFailed: it failed | revert [1 0] | stuck"},
		"one that is undone isn't well yet": {
			reason: "it has the time of its deadline",
			in:     rolling(1, target(1, reverted, recovering(10*time.Minute), starting)),
			want:   "RollingBack w1 VerificationFailed: it failed | wait 1s"},
		"one that is undone is well again": {
			reason: "it ends",
			in: rolling(1, target(1, reverted, recovering(time.Minute), clean), target(1, reverted),
				target(2, pending)),
			want: "RolledBack w1 VerificationFailed: 2 writes of wave 1 of 2 undone; 0 targets of earlier waves stay " +
				"fixed. it failed | mark 0 Reverted recovered | mark 2 Skipped NotAttempted: the plan was rolled " +
				"back before this target's turn"},
		"one that is undone isn't well in time": {
			reason: "it ends, and says so",
			in:     rolling(1, target(1, reverted, recovering(10*time.Minute+1), starting)),
			want: "RolledBack w1 VerificationFailed: 1 write of wave 1 of 2 undone; 0 targets of earlier waves stay " +
				"fixed. it failed | mark 0 Reverted : undone, but the object wasn't well again within 10m0s: 1 of " +
				"2 Pods is ready recovered"},
		"one that is undone wasn't looked at in time": {
			reason: "it ends, and says so", in: rolling(1, target(1, reverted, recovering(time.Hour))),
			want: "RolledBack w1 VerificationFailed: 1 write of wave 1 of 2 undone; 0 targets of earlier waves stay " +
				"fixed. it failed | mark 0 Reverted : undone, but the object wasn't well again within 10m0s: not " +
				"checked yet recovered"},
		"one write of the canary is undone": {
			reason: "nothing else was begun", in: rolling(0, target(0, reverted), target(1, pending)),
			want: "RolledBack w0 VerificationFailed: 1 write undone; no other wave was begun. it failed | mark 1 " +
				"Skipped NotAttempted: the plan was rolled back before this target's turn"},
		"two writes of a wave are undone": {
			reason: "earlier waves stay", in: rolling(1, target(0, done), target(1, reverted), target(1, reverted)),
			want: "RolledBack w1 VerificationFailed: 2 writes of wave 1 of 2 undone; 1 target of earlier waves stays " +
				"fixed. it failed"},
		"all writes are undone": {
			reason: "the message says so", in: rolling(1, target(0, reverted), target(1, reverted)),
			given: all,
			want:  "RolledBack w1 VerificationFailed: 2 writes undone, of all waves that were begun. it failed"},
		"somebody else has set targets back": {
			reason: "what is left of their fixes stays, and the message says so",
			in: rolling(1, target(0, failed, because(v1alpha1.ReasonFighting)), target(1, reverted),
				target(1, failed, because(v1alpha1.ReasonFighting)),
				target(1, failed, because(v1alpha1.ReasonVanished))),
			want: "RolledBack w1 VerificationFailed: 1 write of wave 1 of 2 undone; 0 targets of earlier waves stay " +
				"fixed. it failed; 1 target whose fix somebody else has reverted is not touched: the slices' records " +
				"say what was written"},
		"somebody else has set targets back, and all is undone": {
			reason: "what is left of their fixes stays, and the message says so", given: all,
			in: rolling(1, target(0, failed, because(v1alpha1.ReasonFighting)), target(1, reverted),
				target(1, failed, because(v1alpha1.ReasonFighting))),
			want: "RolledBack w1 VerificationFailed: 1 write undone, of all waves that were begun. it failed; 2 " +
				"targets whose fix somebody else has reverted are not touched: the slices' records say what was " +
				"written"},
		"a person wanted it, and nothing was left to undo": {
			reason: "it is over",
			in: func() Observation {
				o := rolling(1, target(1, failed))
				o.Status.Message = "wave 1 of 2: ada wants it undone; undoing all writes of the plan"
				return o
			}(),
			given: all,
			want: "RolledBack w1 VerificationFailed: 0 writes undone, of all waves that were begun. wave 1 of 2: ada " +
				"wants it undone"},
		"what was done has no undo": {
			reason: "a person must look",
			in:     rolling(1, target(1, conflict, because(v1alpha1.ReasonNoUndo)), target(1, reverted)),
			want: "RollbackIncomplete w1 VerificationFailed: 1 write undone, 1 couldn't be: what was done to them " +
				"has no undo; the slices' records say what it was. it failed"},
		"the kind isn't served": {
			reason: "a person must look", in: rolling(1, target(1, conflict, because(v1alpha1.ReasonNotServed))),
			want: "RollbackIncomplete w1 VerificationFailed: 0 writes undone, 1 couldn't be: the API server doesn't " +
				"serve their kind any more; is it served again, compare the slices' records with the objects. it " +
				"failed"},
		"somebody changed the fields": {
			reason: "a person must look", in: rolling(1, target(1, conflict, because(v1alpha1.ReasonConflict))),
			want: "RollbackIncomplete w1 VerificationFailed: 0 writes undone, 1 couldn't be: somebody else has " +
				"changed the same fields since, or others with them; compare the slices' records with the objects. " +
				"it failed"},
		"several reasons": {
			reason: "each says of how many",
			in: rolling(1, target(1, conflict, because(v1alpha1.ReasonNoUndo)),
				target(1, conflict, because(v1alpha1.ReasonNotServed)),
				target(1, conflict, because(v1alpha1.ReasonConflict)),
				target(1, conflict, because(v1alpha1.ReasonConflict)),
				target(1, conflict, because(v1alpha1.ReasonConflict)), target(1, reverted), target(2, reverted)),
			want: "RollbackIncomplete w1 VerificationFailed: 2 writes undone, 5 couldn't be: what was done to 1 has " +
				"no undo; the kind of 1 isn't served any more; of the others, somebody else has changed the same " +
				"fields since, or others with them; compare the slices' records with the objects. it failed"},
	})
}

// The first that is to be undone is undone even where no budget has room, or nothing would ever get better.
func TestPaceUndo(t *testing.T) {
	const reverted = v1alpha1.TargetReverted
	roomFor := func(n int) *canary.Room {
		return canary.RoomFor([]canary.PlanAtWork{{Name: "p", MaxInFlight: int32(n),
			InFlight: map[string]int{"shop": 1}}})
	}
	for name, tc := range map[string]struct {
		reason  string
		most    int
		unknown string
		targets []TargetView
		taken   map[string]string
		barred  []string
	}{
		"there is room for one": {
			reason: "the last one gets it", most: 2,
			targets: []TargetView{target(1, verified), target(1, verified), target(1, verified, in("cart"))},
			taken:   map[string]string{"uid-c": "cart"},
			barred: []string{
				"maxTotalInFlight of plan p allows 2 in flight over all plans; 2 are", "=",
				""}},
		"there is room for more than may be in flight": {
			reason: "its batch is full", most: 9,
			targets: []TargetView{target(1, verified), target(1, verified), target(1, verified)},
			taken:   map[string]string{"uid-b": "shop", "uid-c": "shop"},
			barred:  []string{"its batch is full", "", ""}},
		"there is no room": {
			reason: "one is undone all the same", most: 1,
			targets: []TargetView{target(1, verified), target(1, verified)},
			taken:   map[string]string{"uid-b": "shop"},
			barred: []string{
				"maxTotalInFlight of plan p allows 1 in flight over all plans; 1 are", ""}},
		"there is no room, and it isn't known why": {
			reason: "that is said", most: 1, unknown: "budgets couldn't be read",
			targets: []TargetView{target(1, verified), target(1, verified)},
			taken:   map[string]string{"uid-b": "shop"}, barred: []string{"budgets couldn't be read", ""}},
		"there is no room, and one is undone": {
			reason: "that one has begun", most: 1,
			targets: []TargetView{target(1, verified), target(1, reverted, recovering(time.Minute))},
			taken:   map[string]string{},
			barred: []string{
				"maxTotalInFlight of plan p allows 1 in flight over all plans; 1 are", ""}},
		"there is no room, and some are in flight": {
			reason: "they take none: they may be unavailable already", most: 1,
			targets: []TargetView{target(1, verified), target(1, intended), target(1, written)},
			taken:   map[string]string{},
			barred: []string{
				"maxTotalInFlight of plan p allows 1 in flight over all plans; 1 are", "", ""}},
		"nothing of it is due": {
			reason: "an API error has put it off, or it is another wave's", most: 9,
			targets: []TargetView{target(1, verified, again(time.Minute)), target(2, verified), target(1, done)},
			taken:   map[string]string{}, barred: []string{"", "", ""}},
		"one is due this moment": {
			reason: "it has waited long enough", most: 9, targets: []TargetView{target(1, verified, again(0))},
			taken: map[string]string{"uid-a": "shop"}, barred: []string{""}},
	} {
		t.Run(name, func(t *testing.T) {
			o := situation(v1alpha1.PhaseRollingBack, 1, tc.targets...)
			if diff := cmp.Diff(tc.taken, o.PaceUndo(roomFor(tc.most), tc.unknown)); diff != "" {
				t.Errorf("%s: -want +got\n%s", tc.reason, diff)
			}
			for i, target := range o.Targets {
				want := tc.barred[i]
				if want == "=" {
					want = tc.barred[i-1]
				}
				if target.Barred != want || (target.BarredReason != "") != (want != "") {
					t.Errorf("%s: %d is barred by %q (%s), want %q", tc.reason, i, target.Barred, target.BarredReason,
						want)
				}
			}
		})
	}
}

// What is seen of those that failed is kept by the step that begins the rollback: it undoes nothing yet.
func TestAFailedWaveNamesThoseThatFailed(t *testing.T) {
	sick := seen(CheckFailed, v1alpha1.ReasonUnhealthy, "its health got worse")
	for _, phase := range []v1alpha1.RemediationPhase{v1alpha1.PhaseVerifying, v1alpha1.PhaseSoaking} {
		for _, onFailure := range []v1alpha1.FailureAction{v1alpha1.FailureHold, ""} {
			o := situation(phase, 1, target(1, written, unread, applied(100*time.Hour)), target(1, written, clean),
				target(1, written, sick))
			o.Spec.Plan.Rollout.OnFailure = onFailure
			intent, err := Step(o)
			if err != nil || !slices.Equal(intent.Failed, []int{2, 0}) || len(intent.Revert) > 0 {
				t.Errorf("%s, %s: %+v, %v", phase, onFailure, intent, err)
			}
		}
	}
}
