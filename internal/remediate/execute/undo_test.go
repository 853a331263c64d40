// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"errors"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// written is the target's record after its fix was written, kept.
func (b *bench) written(actions ...policy.Action) v1alpha1.TargetRecord {
	b.t.Helper()
	a, rec := b.attempt(actions)
	if rec = b.pass.send(b.t.Context(), a, rec); rec.State != v1alpha1.TargetApplied {
		b.t.Fatalf("not written: %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
	b.pass.Records.Set(0, rec)
	return rec
}

// revert has the target's write undone.
func (b *bench) revert() v1alpha1.TargetRecord {
	b.t.Helper()
	b.saved = nil
	if err := b.pass.Work(b.t.Context(), rollout.Intent{Revert: []int{0}}); err != nil {
		b.t.Fatal(err)
	}
	return b.saved[len(b.saved)-1]
}

// What an undoing is to leave is persisted before it is sent, so that neither a crash nor
// a lost answer hides what comes with it.
func TestAnUndoingIsProvenBeforeItIsSent(t *testing.T) {
	deletion, patch := []policy.Action{{Type: policy.ActionDelete}}, fixOnly()
	cases := map[string]struct {
		reason    string
		actions   []policy.Action
		meanwhile func(*bench)
		saves     int
		proven    bool
		want      v1alpha1.TargetState
	}{
		"a patch": {reason: "it says what the object is to hold", actions: patch, saves: 2, proven: true,
			want: v1alpha1.TargetReverted},
		"a deletion": {reason: "what was deleted is the proof", actions: deletion, saves: 1,
			want: v1alpha1.TargetReverted},
		"a patch that somebody has undone": {reason: "nothing is to be sent", actions: patch, saves: 1,
			meanwhile: func(b *bench) { b.set("web", "state", "bad") }, want: v1alpha1.TargetReverted},
		"a patch of an object that can't be read": {reason: "it is tried again", actions: patch, saves: 1,
			meanwhile: func(b *bench) { b.answers(apierrors.NewServiceUnavailable("x"), "web", true) },
			want:      v1alpha1.TargetApplied},
		"a patch where the slice is full": {reason: "a rollback is never kept from its way", actions: patch, saves: 2,
			meanwhile: func(b *bench) {
				rec := *b.pass.Records.Record(0).DeepCopy()
				b.pass.Records.Set(0, v1alpha1.TargetRecord{State: v1alpha1.TargetPending})
				b.crowd(100)
				b.pass.Records.Slices[0].Records[0] = rec
			}, want: v1alpha1.TargetReverted},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.written(tc.actions...)
			if tc.meanwhile != nil {
				tc.meanwhile(b)
			}
			got := b.revert()
			if got.State != tc.want || len(b.saved) != tc.saves {
				t.Fatalf("%s: %s (%s) after %d saves: %s", tc.reason, got.State, got.Reason, len(b.saved), got.Message)
			}
			if first := b.saved[0]; tc.saves > 1 && (first.State != v1alpha1.TargetApplied ||
				(first.Write.UndoExpected != nil) != tc.proven) {
				t.Errorf("%s: first persisted is %+v", tc.reason, first)
			}
			undone := tc.want == v1alpha1.TargetReverted
			if got.Recovering != undone || (got.Write.RevertedTime != nil) != undone || got.Write.UndoExpected != nil {
				t.Errorf("%s: %+v of %+v", tc.reason, got, got.Write)
			}
			if state, noted := b.state(); undone && (state != "bad" || noted) {
				t.Errorf("%s: state %q, note %t", tc.reason, state, noted)
			}
		})
	}
}

// Nothing is undone before its record is persisted.
func TestNothingIsUndoneThatIsntSaved(t *testing.T) {
	b := newBench(t)
	b.written(fixOnly()...)
	b.saveErr = errors.New("conflict")
	if err := b.pass.Work(t.Context(), rollout.Intent{Revert: []int{0}}); !errors.Is(err, b.saveErr) {
		t.Errorf("got %v", err)
	}
	if state, _ := b.state(); state != "good" {
		t.Errorf("it is undone all the same: %q", state)
	}
}

// A write of unknown outcome is undone once it is known to have come, and counts as undone
// only when it can't come any more.
func TestUndoingAWriteOfUnknownOutcome(t *testing.T) {
	cases := map[string]struct {
		reason string
		after  time.Duration
		// arrived: it reached the object, whose answer was lost.
		arrived bool
		// grew: a webhook added a field at the write alone.
		grew bool
		want v1alpha1.TargetState
		why  string
		next time.Duration
	}{
		"it hasn't come, and still may": {reason: "it is looked at again", after: time.Second,
			want: v1alpha1.TargetIntent, next: fix.LandingPoll},
		"it can't come any more": {reason: "nothing is to be undone", after: record.LandingBound,
			want: v1alpha1.TargetReverted},
		"it has come": {reason: "it is undone", after: time.Second, arrived: true, want: v1alpha1.TargetReverted},
		"it has come with more": {reason: "that is told, and undone with it", after: time.Second, arrived: true,
			grew: true, want: v1alpha1.TargetReverted, why: v1alpha1.ReasonFixChangesMore},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixOnly())
			if tc.arrived {
				if err := b.pass.sendOne(t.Context(), a.Writes[0]); err != nil {
					t.Fatal(err)
				}
			}
			if tc.grew {
				b.set("web", "stamp", "theirs")
			}
			b.pass.Records.Set(0, rec)
			b.later(tc.after)
			got := b.revert()
			if got.State != tc.want || tc.why != "" && got.Reason != tc.why {
				t.Errorf("%s: %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
			if tc.next > 0 && (got.NextAttemptTime == nil ||
				!got.NextAttemptTime.Time.Equal(fixtest.Now.Add(tc.after+tc.next)) || got.Write == nil) {
				t.Errorf("%s: %+v", tc.reason, got)
			}
			if tc.arrived && (b.saved[0].Write.AppliedTime == nil || b.saved[0].Write.UndoExpected == nil ||
				(b.saved[0].Reason == v1alpha1.ReasonFixChangesMore) != tc.grew) {
				t.Errorf("%s: what was found isn't persisted first: %+v", tc.reason, b.saved[0])
			}
			if data := b.object("web").Data; data["state"] != "bad" || data["stamp"] != "" {
				t.Errorf("%s: the object holds %v", tc.reason, data)
			}
		})
	}
}

// A write that is found only right before its undoing isn't undone before what came with
// it is recorded; what a write left beyond its record is no clean undoing.
func TestWhatIsUndoneIsRecordedWhole(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixOnly())
	if err := b.pass.sendOne(t.Context(), a.Writes[0]); err != nil {
		t.Fatal(err)
	}
	if u := b.pass.undoWrite(t.Context(), b.target, rec.Write); !errors.Is(u.Err, errArrived) {
		t.Errorf("undone at once: %+v", u)
	}
	brief := *rec.Write
	brief.Expected = nil // there is nothing to compare with
	if u := b.pass.undoWrite(t.Context(), b.target, &brief); u.State != v1alpha1.TargetReverted {
		t.Errorf("without a proof: %+v", u)
	}
	again := *rec.Write
	if u := b.pass.undoWrite(t.Context(), b.target, &again); u.State != v1alpha1.TargetReverted || !u.Before {
		t.Errorf("undone already: %+v", u)
	}

	b = newBench(t)
	rec = b.written(fixOnly()...)
	rec.Write.Surplus = "/spec/replicas"
	b.pass.Records.Set(0, rec)
	got := b.revert()
	if got.State != v1alpha1.TargetRevertConflict || got.Reason != v1alpha1.ReasonConflict ||
		!strings.Contains(got.Message, "/spec/replicas") || got.Recovering || got.Write.RevertedTime != nil {
		t.Errorf("what couldn't be recorded stays, and it is %s (%s): %s", got.State, got.Reason, got.Message)
	}
}

// A creation whose patch never came leaves nothing that could recover.
func TestATargetThatWasNeverWrittenNeedntRecover(t *testing.T) {
	b := newBench(t)
	got := b.pass.ended(v1alpha1.TargetRecord{}, v1alpha1.TargetReverted, "", "")
	if got.State != v1alpha1.TargetReverted || got.Recovering {
		t.Errorf("%+v", got)
	}
}

// The undoing in a kind that isn't served is given up only after long, after some tries,
// and when the write can't arrive any more: each by itself is no reason.
func TestWhenTheUndoingInAMissingKindIsGivenUp(t *testing.T) {
	b := newBench(t)
	patience := rollout.UnobservedFactor * b.pass.Remediation.Spec.Plan.Rollout.ProgressDeadline.Duration
	cases := map[string]struct {
		waited time.Duration
		tries  int32
		lands  time.Duration
		want   v1alpha1.TargetState
	}{
		"long, often, and nothing can arrive": {patience + 1, unservedTries, 0, v1alpha1.TargetRevertConflict},
		"not long enough":                     {patience, unservedTries, 0, v1alpha1.TargetApplied},
		"not often enough":                    {patience + 1, unservedTries - 1, 0, v1alpha1.TargetApplied},
		"the write may still arrive":          {patience + 1, unservedTries, 1, v1alpha1.TargetApplied},
	}
	missing := &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			since := micro(fixtest.Now.Add(-tc.waited))
			got := b.pass.undoServed(v1alpha1.TargetRecord{State: v1alpha1.TargetApplied, WaitingTime: since,
				Attempts: tc.tries}, fixtest.Now.Add(tc.lands), missing)
			if got.State != tc.want || (got.WaitingTime != nil) != (tc.want == v1alpha1.TargetApplied) {
				t.Errorf("got %s (%s), waiting since %v", got.State, got.Reason, got.WaitingTime)
			}
		})
	}
}
