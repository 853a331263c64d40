// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/breakertest"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/remediate/action"
	"evenkeel.dev/evenkeel/internal/remediate/rollout"
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
		b.pass.gate = &lastGate{ask: func(context.Context) (rollout.Gate, error) {
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
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonHeldBack},
		"the gate can't be asked": {reason: "no answer is no yes", want: v1alpha1.TargetPending, why: "Retrying",
			meanwhile: func(b *bench) {
				b.pass.gate = &lastGate{ask: func(context.Context) (rollout.Gate, error) {
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
		"it was edited": {reason: "the fix is computed anew", want: v1alpha1.TargetPending, why: "Retrying",
			meanwhile: func(b *bench) { b.set("web", "other", "x") }},
		"it is gone": {reason: "nothing was written", want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonGone,
			meanwhile: (*bench).deleteWeb},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixOnly())
			a.snapshot = catalog.New(catalog.Options{}).Snapshot()
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
	b.pass.targets.writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
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
	b.pass.gate = &lastGate{ask: func(context.Context) (rollout.Gate, error) {
		asked++
		return rollout.Gate{Closed: asked > 1, Message: "a person has thrown the kill switch"}, nil
	}}
	clock := clocktesting.NewFakePassiveClock(waiverNow)
	b.pass.targets.clock = clock
	b.pass.targets.writer = interceptor.NewClient(b.api.(client.WithWatch), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, obj client.Object, opts ...client.CreateOption) error {
			clock.SetTime(waiverNow.Add(2 * gateFresh))
			return c.Create(ctx, obj, opts...)
		}})
	got := b.pass.send(t.Context(), a, rec)
	if state, noted := b.state(); state != "bad" || noted || got.State != v1alpha1.TargetPending ||
		got.Reason != v1alpha1.ReasonHeldBack {
		t.Errorf("the object holds %q, the note is there: %t, the target is %s (%s)", state, noted, got.State,
			got.Reason)
	}
}

func TestTheLastAnswerOfTheGateIsSharedForASecond(t *testing.T) {
	asked := 0
	g := &lastGate{ask: func(context.Context) (rollout.Gate, error) { asked++; return rollout.Gate{}, nil }}
	for _, after := range []time.Duration{0, gateFresh - 1, gateFresh, gateFresh + 1} {
		if _, err := g.open(t.Context(), waiverNow.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 2 {
		t.Errorf("asked %d times, want 2", asked)
	}
}

func TestWhatAFixMayDependOn(t *testing.T) {
	computed := func(version string, generation int64, status string) *unstructured.Unstructured {
		return &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"phase": status},
			"metadata": map[string]any{"resourceVersion": version, "generation": generation}}}
	}
	labelled := computed("2", 1, "a")
	labelled.SetLabels(map[string]string{"a": "b"})
	patch, status, removal := &write{}, &write{}, &write{}
	patch.Type, status.Type, status.Subresource = policy.ActionPatch, policy.ActionPatch, policy.StatusSubresource
	removal.record.Action = v1alpha1.ActionDelete
	if err := setFields(&status.record,
		[]action.Field{{Path: "/status/phase", Before: "a", HasBefore: true, After: "z", HasAfter: true}}); err != nil {
		t.Fatal(err)
	}
	cases := map[string]struct {
		now   *unstructured.Unstructured
		write *write
		want  bool
	}{
		"nothing has changed":                     {computed("1", 1, "a"), patch, false},
		"the status moves on":                     {computed("2", 1, "b"), patch, false},
		"the status moves on that is written":     {computed("2", 1, "b"), status, true},
		"something else has changed of it":        {computed("2", 1, "a"), status, false},
		"anything moves on of what is taken away": {computed("2", 1, "b"), removal, true},
		"the spec has changed":                    {computed("2", 2, "a"), patch, true},
		"a label has changed":                     {labelled, patch, true},
	}
	for name, tc := range cases {
		if got := changedSinceComputed(computed("1", 1, "a"), tc.now, []*write{tc.write}); got != tc.want {
			t.Errorf("%s: changed %t, want %t", name, got, tc.want)
		}
	}
}

// The gate is asked of what the API server and the catalog hold now, not of what
// the step began with.
func TestTheGateIsAskedAgainOfWhatIsThere(t *testing.T) {
	cases := map[string]struct {
		meanwhile func(*breakertest.Circuit, client.Client, *v1alpha1.Remediation)
		why       string
	}{
		"nothing has changed": {func(*breakertest.Circuit, client.Client, *v1alpha1.Remediation) {}, ""},
		"a person has paused the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			rem.Spec.DesiredState = v1alpha1.StatePaused
			c.Must(api.Update(c.Ctx, rem))
		}, v1alpha1.ReasonPaused},
		"a person has ended the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			rem.Spec.DesiredState = v1alpha1.StateAborted
			c.Must(api.Update(c.Ctx, rem))
		}, v1alpha1.ReasonAborted},
		"somebody has deleted the plan": {func(c *breakertest.Circuit, api client.Client, rem *v1alpha1.Remediation) {
			c.Must(api.Delete(c.Ctx, rem))
		}, v1alpha1.ReasonPolicyChanged},
		"the policy's mode is Disabled": {func(c *breakertest.Circuit, _ client.Client, _ *v1alpha1.Remediation) {
			c.Policy("missing", func(s *v1alpha1.RolloutStrategy) { s.Mode = v1alpha1.RemediationDisabled })
		}, v1alpha1.ReasonPolicyChanged},
		"the policy's mode is Disabled, and its rule doesn't compile": {
			func(c *breakertest.Circuit, api client.Client, _ *v1alpha1.Remediation) {
				c.Must(api.Create(c.Ctx, &v1alpha1.ClusterRegoPolicy{
					ObjectMeta: metav1.ObjectMeta{Name: "tags", UID: "policy-uid"},
					Spec: v1alpha1.RegoPolicySpec{
						Remediation: v1alpha1.PolicyRemediation{
							RolloutStrategy: v1alpha1.RolloutStrategy{Mode: v1alpha1.RemediationDisabled}}}}))
			}, v1alpha1.ReasonPolicyChanged},
		"the policy's rule has changed": {func(c *breakertest.Circuit, _ client.Client, _ *v1alpha1.Remediation) {
			c.Policy("other", func(*v1alpha1.RolloutStrategy) {})
		}, v1alpha1.ReasonPolicyChanged},
		"the kill switch was thrown": {func(c *breakertest.Circuit, _ client.Client, rem *v1alpha1.Remediation) {
			_, err := c.Consult(c.Ctx, rem) // the breakers are there
			c.Must(err)
			c.Kept.Kept["global"].Spec.Mode = v1alpha1.BreakerForcedOpen
		}, v1alpha1.ReasonBreakerOpen},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := breakertest.New(t)
			scheme := runtime.NewScheme()
			c.Must(v1alpha1.AddToScheme(scheme))
			rem := c.Plan("a")
			rem.UID = "plan-uid"
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(rem).Build()
			live := &v1alpha1.Remediation{}
			c.Must(api.Get(c.Ctx, client.ObjectKeyFromObject(rem), live))
			control := &Controller{reader: api, breakers: c.Set, policies: c.Catalog, clock: c.Time}
			tc.meanwhile(c, api, live)
			gate, err := control.stillOpen(c.Ctx, rem)
			if c.Must(err); gate.Closed != (tc.why != "") || gate.Reason != tc.why {
				t.Errorf("want %q, got %+v", tc.why, gate)
			}
		})
	}
}
