// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/rollout"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// annotate sets an annotation of the target, or of its namespace.
func (b *bench) annotate(o client.Object, key client.ObjectKey, annotation, value string) {
	b.t.Helper()
	if err := b.api.Get(b.t.Context(), key, o); err != nil {
		b.t.Fatal(err)
	}
	o.SetAnnotations(map[string]string{annotation: value})
	if err := b.api.Update(b.t.Context(), o); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) web() client.ObjectKey { return client.ObjectKey{Namespace: "shop", Name: "web"} }

// Whatever has come since the fix was computed is seen right before its write.
func TestWritesAskAgainRightBeforeTheyAreSent(t *testing.T) {
	shut := func(b *bench) {
		b.pass.Gate = &LastGate{Ask: func(context.Context) (rollout.Gate, error) {
			return rollout.Gate{Closed: true, Message: "a person has thrown the kill switch"}, nil
		}}
	}
	cases := map[string]struct {
		reason    string
		meanwhile func(*bench)
		want      v1alpha1.TargetState
		why       string
	}{
		"nothing has changed": {reason: "it is written", meanwhile: func(*bench) {}, want: v1alpha1.TargetApplied},
		"the gate has closed": {reason: "a pause or the kill switch counts at once", meanwhile: shut,
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying},
		"its namespace is kept back": {reason: "its kill switch counts at once, too", meanwhile: func(b *bench) {
			b.pass.Gate = &LastGate{Ask: func(context.Context) (rollout.Gate, error) {
				return rollout.Gate{KeptBack: map[string]string{"shop": "a person has thrown its kill switch"}}, nil
			}}
		}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying},
		"another namespace is kept back": {reason: "that is another", meanwhile: func(b *bench) {
			b.pass.Gate = &LastGate{Ask: func(context.Context) (rollout.Gate, error) {
				return rollout.Gate{KeptBack: map[string]string{"bank": "a person has thrown its kill switch"}}, nil
			}}
		}, want: v1alpha1.TargetApplied},
		"the gate can't be asked": {reason: "no answer is no yes", want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying,
			meanwhile: func(b *bench) {
				b.pass.Gate = &LastGate{Ask: func(context.Context) (rollout.Gate, error) {
					return rollout.Gate{}, errors.New("timeout")
				}}
			}},
		"the object has opted out": {reason: "its owner said so first", want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonOptOut, meanwhile: func(b *bench) {
				b.annotate(&corev1.ConfigMap{}, b.web(), v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)
			}},
		"its namespace has opted out": {reason: "read anew, and not remembered", want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonOptOut, meanwhile: func(b *bench) {
				b.annotate(&corev1.Namespace{}, client.ObjectKey{Name: "shop"}, v1alpha1.AnnotationRemediation,
					v1alpha1.RemediationPaused)
			}},
		"a tool has marked it": {reason: "it would undo the fix", want: v1alpha1.TargetSkipped,
			why: v1alpha1.ReasonManaged, meanwhile: func(b *bench) {
				b.annotate(&corev1.ConfigMap{}, b.web(), "argocd.argoproj.io/tracking-id", "shop:/ConfigMap:shop/web")
			}},
		"it was edited": {reason: "the fix is computed anew", want: v1alpha1.TargetPending,
			why:       v1alpha1.ReasonRetrying,
			meanwhile: func(b *bench) { b.set("web", "other", "x") }},
		"it is gone": {reason: "nothing was written", want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonGone,
			meanwhile: (*bench).deleteWeb},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixOnly())
			tc.meanwhile(b)
			got := b.pass.send(t.Context(), a, rec)
			if got.State != tc.want || got.Reason != tc.why {
				t.Fatalf("%s: got %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
			if state, _ := b.state(); (state == "good") != (tc.want == v1alpha1.TargetApplied) {
				t.Errorf("%s: the object holds %q", tc.reason, state)
			}
			if tc.want != v1alpha1.TargetApplied && got.Write != nil {
				t.Errorf("%s: the record tells of a write that wasn't sent", tc.reason)
			}
		})
	}
}

// What comes after the last look is refused by the server: the write is guarded by
// the version that was read.
func TestAnOptOutAfterTheLastLookIsRefusedByTheServer(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixOnly())
	late := false
	b.pass.Targets.Writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, patch client.Patch,
			opts ...client.PatchOption) error {
			if !late {
				late = true
				b.annotate(&corev1.ConfigMap{}, b.web(), v1alpha1.AnnotationRemediation, v1alpha1.RemediationPaused)
			}
			return c.Patch(ctx, obj, patch, opts...)
		}})
	got := b.pass.send(t.Context(), a, rec)
	if state, _ := b.state(); state != "bad" || got.State != v1alpha1.TargetPending {
		t.Errorf("the object holds %q, the target is %s (%s): %s", state, got.State, got.Reason, got.Message)
	}
}

// The kill switch between two writes of a fix takes back the first.
func TestAFixThatIsHeldBackHalfWayIsTakenBack(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixing())
	asked := 0
	b.pass.Gate = &LastGate{Ask: func(context.Context) (rollout.Gate, error) {
		asked++
		return rollout.Gate{Closed: asked > 1, Message: "a person has thrown the kill switch"}, nil
	}}
	clock := clocktesting.NewFakePassiveClock(fixtest.Now)
	b.pass.Targets.Clock = clock
	b.pass.Targets.Writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			clock.SetTime(fixtest.Now.Add(2 * gateFresh))
			return c.Create(ctx, obj, opts...)
		}})
	got := b.pass.send(t.Context(), a, rec)
	if state, noted := b.state(); state != "bad" || noted || got.State != v1alpha1.TargetPending ||
		got.Reason != v1alpha1.ReasonRetrying {
		t.Errorf("the object holds %q, the note is there: %t, the target is %s (%s)", state, noted, got.State,
			got.Reason)
	}
}

func TestTheLastAnswerOfTheGateIsSharedForASecond(t *testing.T) {
	asked := 0
	g := &LastGate{Ask: func(context.Context) (rollout.Gate, error) { asked++; return rollout.Gate{}, nil }}
	for _, after := range []time.Duration{0, gateFresh - 1, gateFresh, gateFresh + 1} {
		if _, err := g.open(t.Context(), fixtest.Now.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}
