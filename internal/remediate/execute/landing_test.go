// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"testing"
	"time"

	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func fixOnly() []policy.Action { return fixing()[1:] }

// After a refusal the object is others' to edit: nothing of ours can be on it.
func TestARefusedWriteLeavesNoRecord(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixOnly())
	b.set("web", "state", "good") // somebody makes the same edit first
	got := b.pass.send(t.Context(), a, rec)
	if got.State != v1alpha1.TargetPending || got.Write != nil || got.Preceding != nil {
		t.Fatalf("got %s (%s) with the record %+v", got.State, got.Reason, got.Write)
	}
	again := &fix.Attempt{Targets: b.pass.Targets, Target: v1alpha1.Target{Object: b.target}, Previous: got}
	if late := fix.ReadFresh(t.Context(), again); late != nil {
		t.Errorf("their edit is taken for ours: %+v", late)
	}
}

// A refused try leaves the record of an earlier one whose answer was lost.
func TestARefusalKeepsAnEarlierWriteOfUnknownOutcome(t *testing.T) {
	b := newBench(t)
	_, first := b.attempt(fixOnly())
	first.State, first.Write.ResourceVersion = v1alpha1.TargetPending, "the first"
	a, rec := b.attempt(fixOnly())
	a.Previous = first
	b.set("web", "state", "theirs")
	got := b.pass.send(t.Context(), a, rec)
	if got.State != v1alpha1.TargetPending || got.Write == nil || got.Write.ResourceVersion != "the first" {
		t.Errorf("got %s (%s) with the record %+v", got.State, got.Reason, got.Write)
	}
}

func TestAWriteIsntSentOnceItsRecordIsOld(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixOnly())
	b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(sendWithin + time.Second))
	got := b.pass.send(t.Context(), a, rec)
	if state, _ := b.state(); state != "bad" || got.State != v1alpha1.TargetPending || got.Write != nil {
		t.Errorf("the object holds %q, the target is %s (%s)", state, got.State, got.Reason)
	}
}

func TestAWriteIsGivenUpInTime(t *testing.T) {
	b := newBench(t)
	var deadline time.Time
	b.pass.Targets.Writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			deadline, _ = ctx.Deadline()
			return c.Patch(ctx, obj, patch, opts...)
		}})
	a, rec := b.attempt(fixOnly())
	if got := b.pass.send(t.Context(), a, rec); got.State != v1alpha1.TargetApplied || deadline.IsZero() {
		t.Errorf("got %s (%s): %s; deadline %s", got.State, got.Reason, got.Message, deadline)
	}
}

func TestAWriteThatMayStillArriveKeepsItsPlan(t *testing.T) {
	cases := map[string]struct {
		reason  string
		after   time.Duration
		arrives bool
		want    v1alpha1.TargetState
		kept    bool
	}{
		"it hasn't arrived": {reason: "it still may", after: time.Minute, want: v1alpha1.TargetPending,
			kept: true},
		"it arrives": {reason: "it is ours", after: time.Minute, arrives: true,
			want: v1alpha1.TargetApplied, kept: true},
		"it can't arrive any more": {reason: "what comes now is somebody else's", after: record.LandingBound,
			want: v1alpha1.TargetPending},
		"it arrived in the meantime": {reason: "the last look finds it", after: time.Hour, arrives: true,
			want: v1alpha1.TargetApplied, kept: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixOnly())
			rec.State = v1alpha1.TargetPending
			if tc.arrives {
				if err := b.pass.sendOne(t.Context(), a.Writes[0]); err != nil {
					t.Fatal(err)
				}
			}
			b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(tc.after))
			a.Previous = rec
			got := b.pass.resolved(t.Context(), a)
			if got.State != tc.want || (got.Write != nil) != tc.kept {
				t.Errorf("%s: got %s (%s): %s, record kept: %t", tc.reason, got.State, got.Reason, got.Message,
					got.Write != nil)
			}
		})
	}
}

// A new leader with another clock counts from when it first saw the record.
func TestTheTimeOfALateWriteIsCountedByOurOwnClock(t *testing.T) {
	b := newBench(t)
	_, rec := b.attempt(fixOnly())
	l, ahead := NewLandings(), fixtest.Now.Add(365*24*time.Hour)
	if got := l.until("plan-1", "u1", &rec, ahead); !got.Equal(ahead.Add(record.LandingBound)) {
		t.Errorf("a clock that is a year ahead ends the wait at %s", got)
	}
	if got := l.until("plan-1", "u1", &rec, ahead.Add(time.Minute)); !got.Equal(ahead.Add(record.LandingBound)) {
		t.Errorf("a second look moves the end to %s", got)
	}
	l.Drop("plan-1")
	if len(l.seen) > 0 {
		t.Error("a plan that is forgotten leaves something behind")
	}
}
