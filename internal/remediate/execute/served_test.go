// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// missingKinds are the answers where the API server doesn't serve a kind.
func missingKinds() map[string]error {
	return map[string]error{
		"a path that no handler serves": apierrors.NewGenericServerResponse(http.StatusNotFound, "get",
			schema.GroupResource{Resource: "configmaps"}, "web", "404 page not found", 0, true),
		"a kind that discovery doesn't know": &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}},
	}
}

// withoutKind answers each read of the bench's objects as if their kind weren't served.
func (b *bench) withoutKind(answer error) {
	b.t.Helper()
	b.pass.Targets.Reader = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return answer
		}})
}

// An object whose kind isn't served is neither gone nor vanished, its removal hasn't
// happened, and its write isn't undone.
func TestAnObjectWhoseKindIsNotServedIsNotGone(t *testing.T) {
	for name, answer := range missingKinds() {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixing())
			written := b.pass.send(t.Context(), a, rec)
			b.withoutKind(answer)

			before := fix.ReadFresh(t.Context(),
				&fix.Attempt{Targets: b.pass.Targets, Plan: b.pass.Remediation.Spec.Plan, Target: a.Target,
					Previous: v1alpha1.TargetRecord{State: v1alpha1.TargetPending}})
			if before == nil || before.State != v1alpha1.TargetPending || before.Reason != v1alpha1.ReasonNotServed ||
				before.Attempts != 0 || before.WaitingTime == nil {
				t.Errorf("before its write it is %+v, want it to wait uncharged", before)
			}
			b.pass.Records = &record.Records{}
			b.pass.Records.Add(&v1alpha1.RemediationSlice{
				Targets: []v1alpha1.Target{a.Target}, Records: []v1alpha1.TargetRecord{written}})
			if c := b.pass.verify(t.Context(), 0, true); c.Result != rollout.CheckWaiting ||
				c.Reason != v1alpha1.ReasonUnobserved {
				t.Errorf("verification says %+v, want waiting", c)
			}
			removed := written
			removed.Write = &v1alpha1.WriteRecord{Action: v1alpha1.ActionDelete, UID: "u1"}
			b.pass.Records.Set(0, removed)
			if c := b.pass.verify(t.Context(), 0, true); c.Result != rollout.CheckWaiting {
				t.Errorf("verification of a removal says %+v, want waiting", c)
			}
			a.Previous = rec
			if got := b.pass.resolved(t.Context(), a); got.State != v1alpha1.TargetIntent {
				t.Errorf("of a recorded write it says %s (%s), want the intent kept", got.State, got.Reason)
			}
			if got := b.pass.reverted(t.Context(), b.target, written); got.State != v1alpha1.TargetApplied ||
				got.NextAttemptTime == nil {
				t.Errorf("undoing it comes to %s (%s), want another try", got.State, got.Reason)
			}
		})
	}
}

// The undoing of a write ends that the API server never takes, as when whoever edits the object has made it immutable;
// what admission denies is tried on.
func TestUndoingEndsWhereTheAPIServerRefusesIt(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "web", field.ErrorList{
		field.Forbidden(field.NewPath("data"), "field is immutable when `immutable` is set")})
	denied := apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "web", nil)
	denied.ErrStatus.Message = `admission webhook "a.example.com" denied the request: no`
	for name, tc := range map[string]struct {
		err  error
		want v1alpha1.TargetState
	}{
		"refused": {invalid, v1alpha1.TargetRevertConflict},
		"denied":  {denied, v1alpha1.TargetApplied},
		"denied as too large": {apierrors.NewRequestEntityTooLargeError(
			`admission webhook "a.example.com" denied the request: no`), v1alpha1.TargetApplied},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixing()[1:])
			written := b.pass.send(t.Context(), a, rec)
			patience := rollout.UnobservedFactor * b.pass.Remediation.Spec.Plan.Rollout.ProgressDeadline.Duration
			answer := func(context.Context, client.WithWatch, client.Object, client.Patch,
				...client.PatchOption) error {
				return tc.err
			}
			b.pass.Targets.Writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{Patch: answer})
			for _, after := range []time.Duration{0, time.Second, patience / 2, patience} {
				b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(after))
				if written = b.pass.reverted(t.Context(), b.target, written); written.State != v1alpha1.TargetApplied {
					t.Fatalf("given up after %s: %s (%s)", after, written.State, written.Reason)
				}
			}
			b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(patience + time.Second))
			got := b.pass.reverted(t.Context(), b.target, written)
			if got.State != tc.want || tc.want == v1alpha1.TargetRevertConflict && (got.Reason !=
				v1alpha1.ReasonNoUndo || !strings.Contains(got.Message, "field is immutable")) {
				t.Errorf("got %s (%s): %s", got.State, got.Reason, got.Message)
			}
		})
	}
}

// The undoing of a write of a kind that is uninstalled for good ends, and says that
// nothing is known of it; one that comes back in time is undone.
func TestUndoingEndsWhereTheKindIsUninstalled(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixing()[1:])
	written := b.pass.send(t.Context(), a, rec)
	at := func(after time.Duration) {
		b.pass.Targets.Clock = clocktesting.NewFakePassiveClock(fixtest.Now.Add(after))
	}
	patience := rollout.UnobservedFactor * b.pass.Remediation.Spec.Plan.Rollout.ProgressDeadline.Duration
	served := b.pass.Targets.Reader
	b.withoutKind(&meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ConfigMap"}})
	for _, after := range []time.Duration{0, time.Second, patience / 2, patience} {
		at(after)
		if written = b.pass.reverted(t.Context(), b.target, written); written.State != v1alpha1.TargetApplied {
			t.Fatalf("given up after %s: %s (%s)", after, written.State, written.Reason)
		}
	}
	at(patience + time.Second)
	got := b.pass.reverted(t.Context(), b.target, written)
	if got.State != v1alpha1.TargetRevertConflict || got.Reason != v1alpha1.ReasonNotServed ||
		!strings.Contains(got.Message, "compare the record") {
		t.Errorf("got %s (%s): %s", got.State, got.Reason, got.Message)
	}
	b.pass.Targets.Reader = served
	if got := b.pass.reverted(t.Context(), b.target, written); got.State != v1alpha1.TargetReverted ||
		got.WaitingTime != nil {
		t.Errorf("served again, it is %s (%s): %s", got.State, got.Reason, got.Message)
	}
	if state, _ := b.state(); state != "bad" {
		t.Errorf("it holds %q", state)
	}
}
