// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

func equal(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// later moves the clock to so long after the start.
func (b *bench) later(after time.Duration) {
	b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(after))
}

// answers lets the API server answer reads, or writes, of an object with an error.
func (b *bench) answers(err error, name string, reads bool) {
	funcs := interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
		...client.PatchOption) error {
		return err
	}}
	if reads {
		funcs = interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
			obj client.Object, opts ...client.GetOption) error {
			if key.Name == name {
				return err
			}
			return c.Get(ctx, key, obj, opts...)
		}}
	}
	server := interceptor.NewClient(b.api.(client.WithWatch), funcs)
	was := b.pass.Targets
	b.pass.Targets = &targets.Client{Reader: was.Reader, Writer: was.Writer, Mapper: was.Mapper, Clock: was.Clock,
		Owners: targets.OwnerMemo{Reader: was.Reader}} // as in another reconcile
	if reads {
		b.pass.Targets.Reader = server
	} else {
		b.pass.Targets.Writer = server
	}
}

func maps() schema.GroupResource { return schema.GroupResource{Resource: "configmaps"} }

// Only an answer that leaves the outcome open keeps the intent; after any other, what the
// object comes to hold is somebody else's.
func TestWhatTheAnswerToAWriteMeans(t *testing.T) {
	denied := errors.New(`admission webhook "x.example.com" denied the request: no`)
	cases := map[string]struct {
		answer error
		want   v1alpha1.TargetState
		why    string
		says   string
		tries  int32
		next   time.Duration
		kept   bool
	}{
		"somebody was faster": {answer: apierrors.NewConflict(maps(), "web", errors.New("newer")),
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, says: "somebody else wrote the object first",
			tries: 1, next: kube.ConflictBackoff},
		"a webhook denies it as a conflict": {answer: apierrors.NewConflict(maps(), "web", denied),
			want: v1alpha1.TargetFailed, why: v1alpha1.ReasonAdmissionDenied, says: "denied the request"},
		"a webhook denies it": {answer: apierrors.NewForbidden(maps(), "web", denied),
			want: v1alpha1.TargetFailed, why: v1alpha1.ReasonAdmissionDenied, says: "denied the request"},
		"a webhook can't judge it for now": {answer: apierrors.NewServiceUnavailable(denied.Error()),
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonUnobserved, says: "denied the request",
			next: 2 * time.Second},
		"it isn't valid": {answer: apierrors.NewBadRequest("no"), want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonDryRunRefused, says: "no"},
		"a permission is missing": {answer: apierrors.NewForbidden(maps(), "web", errors.New("no")),
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, says: "forbidden", tries: 1, next: time.Second},
		"nobody knows": {answer: apierrors.NewTimeoutError("the answer is lost", 1), want: v1alpha1.TargetIntent,
			why: v1alpha1.ReasonOutcomeUnknown, says: "the answer is lost", tries: 1, next: time.Second, kept: true},
		"the object is gone": {answer: apierrors.NewNotFound(maps(), "web"), want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonGone, says: "doesn't exist"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixOnly())
			b.answers(tc.answer, "", false)
			a.Targets = b.pass.Targets
			got := b.pass.send(t.Context(), a, rec)
			if got.State != tc.want || got.Reason != tc.why || !strings.Contains(got.Message, tc.says) ||
				got.Attempts != tc.tries || (got.Write != nil) != tc.kept {
				t.Errorf("got %s (%s), %d tries, record kept: %t: %s", got.State, got.Reason, got.Attempts,
					got.Write != nil, got.Message)
			}
			if next := got.NextAttemptTime; (next == nil) != (tc.next == 0) ||
				next != nil && !next.Time.Equal(fixtest.Now.Add(tc.next)) {
				t.Errorf("the next try is at %v, want after %s", next, tc.next)
			}
		})
	}
}

// A write is sent up to the end of its time, and not after it.
func TestTheTimeInWhichAWriteIsSent(t *testing.T) {
	for after, want := range map[time.Duration]v1alpha1.TargetState{0: v1alpha1.TargetApplied,
		sendWithin: v1alpha1.TargetApplied, sendWithin + 1: v1alpha1.TargetPending} {
		b := newBench(t)
		a, rec := b.attempt(fixOnly())
		b.later(after)
		if got := b.pass.send(t.Context(), a, rec); got.State != want {
			t.Errorf("after %s it is %s (%s), want %s", after, got.State, got.Reason, want)
		}
	}
}

// The gate's answer is as old as a second at most, and never from the future.
func TestHowOldTheAnswerOfTheGateMayBe(t *testing.T) {
	for after, want := range map[time.Duration]int{-1: 2, 0: 1, gateFresh - 1: 1, gateFresh: 2} {
		asked := 0
		g := &LastGate{Ask: func(context.Context) (rollout.Gate, error) { asked++; return rollout.Gate{}, nil }}
		for _, at := range []time.Duration{0, after} {
			if _, err := g.open(t.Context(), fixtest.Now.Add(at)); err != nil {
				t.Fatal(err)
			}
		}
		if asked != want {
			t.Errorf("a second question after %s: asked %d times, want %d", after, asked, want)
		}
	}
}

// What nobody knows of is computed anew; what is half there is told by what it lost.
func TestWhatARecordWithoutAWholeWriteComesTo(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixing())
	if err := fix.OperationOf(a.Writes[0].Type).Send(t.Context(), a.Targets, a.Writes[0]); err != nil {
		t.Fatal(err)
	}
	rec.Preceding[0] = a.Writes[0].Record
	at := *rec.Write.IntentTime
	rec.Preceding[0].AppliedTime = &at
	note := b.object("note")
	note.Labels, note.Annotations, note.Data = nil, nil, map[string]string{"a": "theirs"}
	if err := b.api.Update(t.Context(), note); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		rec  v1alpha1.TargetRecord
		want v1alpha1.TargetState
		says string
	}{
		"no write is recorded": {v1alpha1.TargetRecord{State: v1alpha1.TargetIntent}, v1alpha1.TargetPending,
			"recomputing it"},
		"somebody has taken over what was made, and the patch never came": {rec, v1alpha1.TargetFailed,
			"somebody else has written the same fields"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			again := *a
			again.Previous = *tc.rec.DeepCopy()
			if got := b.pass.resolved(t.Context(), &again); got.State != tc.want ||
				!strings.HasPrefix(got.Message, tc.says) && !strings.Contains(got.Message, tc.says) {
				t.Errorf("got %s (%s): %s", got.State, got.Reason, got.Message)
			}
		})
	}
}

// An outcome that nobody can find out now stays open: of a target that was to be tried
// again it is an intent once its write can't arrive any more, so that its wave is undone.
func TestAnOutcomeThatCantBeFoundOut(t *testing.T) {
	for after, want := range map[time.Duration]v1alpha1.TargetState{0: v1alpha1.TargetPending,
		record.LandingBound - 1: v1alpha1.TargetPending, record.LandingBound: v1alpha1.TargetIntent} {
		b := newBench(t)
		_, rec := b.attempt(fixOnly())
		rec.State = v1alpha1.TargetPending
		b.pass.Records.Set(0, rec)
		b.later(after)
		b.answers(apierrors.NewServiceUnavailable("try again"), "web", true)
		if err := b.pass.Work(t.Context(), rollout.Intent{Resolve: []int{0}}); err != nil {
			t.Fatal(err)
		}
		if got := b.saved[0]; got.State != want || got.Reason != v1alpha1.ReasonOutcomeUnknown || got.Write == nil {
			t.Errorf("after %s it is %s (%s)", after, got.State, got.Reason)
		}
	}
}

// What is left alone is recorded without a write, some at a time, and waits as it must.
func TestTargetsThatAreRecordedWithoutAWrite(t *testing.T) {
	at := fixtest.Now
	target := func(skip string, state v1alpha1.TargetState, next time.Duration) (
		v1alpha1.Target, v1alpha1.TargetRecord) {
		rec := v1alpha1.TargetRecord{State: state}
		if next > 0 {
			rec.NextAttemptTime = micro(at.Add(next))
		}
		return v1alpha1.Target{SkipReason: skip}, rec
	}
	slice := &v1alpha1.RemediationSlice{}
	add := func(t v1alpha1.Target, rec v1alpha1.TargetRecord) {
		slice.Targets, slice.Records = append(slice.Targets, t), append(slice.Records, rec)
	}
	add(target("", v1alpha1.TargetPending, 0))
	add(target(v1alpha1.ReasonOwned, v1alpha1.TargetSkipped, 0))
	add(target(v1alpha1.ReasonOwned, v1alpha1.TargetPending, time.Minute))
	add(target(v1alpha1.ReasonOwned, v1alpha1.TargetPending, 30*time.Second))
	add(target(v1alpha1.ReasonOwned, v1alpha1.TargetPending, 45*time.Second))
	for range notifyBatch + 1 {
		add(target(v1alpha1.ReasonOwned, v1alpha1.TargetPending, 0))
	}
	p := &Pass{Records: &record.Records{}}
	p.Records.Add(slice)
	batch, wait := p.ToSkip(at)
	if len(batch) != notifyBatch || batch[0] != 5 || wait != 30*time.Second {
		t.Errorf("%d targets from the %dth on, and a wait of %s", len(batch), batch[0], wait)
	}
	if batch, wait = p.ToSkip(at.Add(30 * time.Second)); batch[0] != 3 || wait != 15*time.Second {
		t.Errorf("then from the %dth on, and a wait of %s", batch[0], wait)
	}
}
