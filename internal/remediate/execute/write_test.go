// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/remediate/fix"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/remediate/targets"
	"evenkeel.dev/evenkeel/test/fixtest"
	"evenkeel.dev/evenkeel/test/fixture"
)

// bench is a target with its fix on a simulated API server.
type bench struct {
	t      *testing.T
	api    client.Client
	pass   *Pass
	target v1alpha1.ObjectReference
	// saved are the target's records as they were persisted, each time; saveErr is what
	// persisting answers.
	saved   []v1alpha1.TargetRecord
	saveErr error
}

// newBench holds a ConfigMap "web" with data.state "bad", whose fix creates a
// ConfigMap "note" and sets the state to "good".
func newBench(t *testing.T, objects ...client.Object) *bench {
	t.Helper()
	api := fixtest.NewServer(objects...)
	p := &Pass{Remediation: &v1alpha1.Remediation{}, Records: &record.Records{},
		Targets: &targets.Client{Reader: api, Writer: api, Mapper: fixtest.Mapper(),
			Clock: clocktesting.NewFakePassiveClock(fixtest.Now), Annotate: true,
			Owners: targets.OwnerMemo{Reader: api}}}
	p.Remediation.Name = "plan-1"
	p.Remediation.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "state", Revision: fixtest.Revision}
	p.Remediation.Spec.Plan.Rollout = fixture.Planned(v1alpha1.RemediationAutomatic)
	p.Remediation.Spec.Plan.Rollout.AllowedActions = v1alpha1.ActionTypes()
	p.Records.Add(&v1alpha1.RemediationSlice{Targets: []v1alpha1.Target{{Object: fixtest.Web()}}})
	b := &bench{t: t, api: api, pass: p, target: fixtest.Web()}
	p.Save = func(context.Context) error {
		b.saved = append(b.saved, *p.Records.Record(0).DeepCopy())
		return b.saveErr
	}
	b.proposes(fixing()...)
	return b
}

// proposes has the policy propose some actions for an object whose state is bad.
func (b *bench) proposes(actions ...policy.Action) {
	b.pass.Snapshot = fixtest.Verdicts{"state": fixtest.BadState(actions...)}
}

func fixing() []policy.Action {
	return []policy.Action{
		{Type: policy.ActionCreate, Object: map[string]any{"apiVersion": "v1", "kind": "ConfigMap",
			"metadata": map[string]any{"name": "note"}, "data": map[string]any{"a": "b"}}},
		fixtest.SetState("good"),
	}
}

// attempt is the target's attempt with its writes recorded.
func (b *bench) attempt(actions []policy.Action) (*fix.Attempt, v1alpha1.TargetRecord) {
	b.t.Helper()
	b.proposes(actions...)
	a := b.pass.Attempt(0)
	rec := a.Prepare(b.t.Context())
	if rec.State != v1alpha1.TargetIntent {
		b.t.Fatalf("it can't be written: %s: %s", rec.Reason, rec.Message)
	}
	return a, rec
}

// state is the target's data.state, and whether the note is there.
func (b *bench) state() (state string, noted bool) {
	b.t.Helper()
	web, note := &corev1.ConfigMap{}, &corev1.ConfigMap{}
	err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, web)
	if client.IgnoreNotFound(err) != nil {
		b.t.Fatal(err)
	}
	if err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: "note"}, note); client.IgnoreNotFound(
		err) != nil {
		b.t.Fatal(err)
	} else {
		noted = err == nil
	}
	return web.Data["state"], noted
}

// object is the ConfigMap of a name.
func (b *bench) object(name string) *corev1.ConfigMap {
	b.t.Helper()
	c := &corev1.ConfigMap{}
	if err := b.api.Get(b.t.Context(), client.ObjectKey{Namespace: "shop", Name: name}, c); err != nil {
		b.t.Fatal(err)
	}
	return c
}

func micro(at time.Time) *metav1.MicroTime {
	m := metav1.NewMicroTime(at)
	return &m
}

func (b *bench) set(name, key, value string) {
	b.t.Helper()
	c := b.object(name)
	c.Data[key] = value
	if err := b.api.Update(b.t.Context(), c); err != nil {
		b.t.Fatal(err)
	}
}

// A controller that died after some of a fix's writes finds out which have
// happened. Never is anything left that no record tells of.
func TestAFixThatIsHalfWritten(t *testing.T) {
	cases := map[string]struct {
		reason string
		// sent is how many of the two writes reached their object.
		sent int
		// meanwhile is what somebody else did before the controller came back.
		meanwhile func(*bench)
		want      v1alpha1.TargetState
		why       string
		state     string
		noted     bool
	}{
		"none was sent": {reason: "it is computed anew", want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, state: "bad"},
		"both were sent": {reason: "it is applied", sent: 2, want: v1alpha1.TargetApplied,
			state: "good", noted: true},
		"the first was sent": {reason: "what was written is taken back, and it is computed anew", sent: 1,
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, state: "bad"},
		"somebody has used what was made": {reason: "it is theirs by now, and said so", sent: 1,
			meanwhile: func(b *bench) {
				b.set("note", "mine", "yes")
			}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonConflict, state: "bad", noted: true},
		"somebody has written the target": {reason: "theirs stays, ours is taken back", sent: 1,
			meanwhile: func(b *bench) {
				b.set("web", "state", "theirs")
			}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonConflict, state: "theirs"},
		"the target is gone": {
			reason: "it may have been written first: verification finds it missing, and the rollback takes back " +
				"the rest",
			sent: 1, meanwhile: (*bench).deleteWeb, want: v1alpha1.TargetApplied, noted: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixing())
			for _, w := range a.Writes[:tc.sent] {
				if err := fix.OperationOf(w.Type).Send(t.Context(), a.Targets, w); err != nil {
					t.Fatal(err)
				}
			}
			if tc.meanwhile != nil {
				tc.meanwhile(b)
			}
			a.Previous = rec // what was persisted before the first write
			got := b.pass.resolved(t.Context(), a)
			if got.State != tc.want || got.Reason != tc.why {
				t.Errorf("%s: %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
			if state, noted := b.state(); state != tc.state || noted != tc.noted {
				t.Errorf("%s: state %q, note %t", tc.reason, state, noted)
			}
		})
	}
}

func (b *bench) deleteWeb() {
	b.t.Helper()
	if err := b.api.Delete(b.t.Context(),
		&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}); err != nil {
		b.t.Fatal(err)
	}
}

func TestSendingAFixOfSeveralWrites(t *testing.T) {
	cases := map[string]struct {
		reason    string
		meanwhile func(*bench)
		want      v1alpha1.TargetState
		state     string
		noted     bool
	}{
		"all goes well": {reason: "both are written", want: v1alpha1.TargetApplied, state: "good", noted: true},
		"the second meets a conflict": {reason: "the first is taken back, and all is computed anew",
			meanwhile: func(b *bench) {
				b.set("web", "state", "theirs")
			}, want: v1alpha1.TargetPending, state: "theirs"},
		"the second finds its object gone": {reason: "the first is taken back", meanwhile: (*bench).deleteWeb,
			want: v1alpha1.TargetSkipped},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(fixing())
			if tc.meanwhile != nil {
				tc.meanwhile(b)
			}
			got := b.pass.send(t.Context(), a, rec)
			if got.State != tc.want {
				t.Errorf("%s: %s (%s): %s", tc.reason, got.State, got.Reason, got.Message)
			}
			if state, noted := b.state(); state != tc.state || noted != tc.noted {
				t.Errorf("%s: state %q, note %t", tc.reason, state, noted)
			}
		})
	}
}

// growing is an API server with a webhook that adds a field to what is created again;
// managedFields, which the simulated server doesn't keep, say whose the rest is.
type growing struct{ client.Client }

func (g growing) Create(ctx context.Context, obj client.Object, opts ...client.CreateOption) error {
	if err := unstructured.SetNestedField(obj.(*unstructured.Unstructured).Object, "theirs", "data",
		"stamp"); err != nil {
		return err
	}
	return g.Client.Create(ctx, obj, opts...)
}

func (g growing) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	err := g.Client.Get(ctx, key, obj, opts...)
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{
		{Manager: v1alpha1.RollbackFieldManager, Operation: metav1.ManagedFieldsOperationUpdate, APIVersion: "v1",
			FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:data": {"f:state": {}}}`)}})
	return err
}

func TestUndoingEachVerb(t *testing.T) {
	deletion := []policy.Action{{Type: policy.ActionDelete}}
	again := func(state string) func(*bench) {
		return func(b *bench) {
			web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u2"},
				Data: map[string]string{"state": state}}
			if err := b.api.Create(b.t.Context(), web); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	cases := map[string]struct {
		actions   []policy.Action
		meanwhile func(*bench)
		want      v1alpha1.TargetState
		message   string
		state     string
		noted     bool
		// grows: a webhook adds a field to whatever is created.
		grows bool
	}{
		"a creation and a patch": {actions: fixing(), want: v1alpha1.TargetReverted,
			state: "bad"},
		"a creation that somebody has changed stays": {actions: fixing(), meanwhile: func(b *bench) {
			b.set("note", "a", "c")
		}, want: v1alpha1.TargetRevertConflict, message: "ConfigMap shop/note", state: "bad", noted: true},
		"what a patch that stays may need isn't deleted": {actions: fixing(), meanwhile: func(b *bench) {
			b.set("web", "state", "theirs")
		}, want: v1alpha1.TargetRevertConflict, message: "theirs are kept", state: "theirs", noted: true},
		"a creation for an object that is gone": {actions: fixing(), meanwhile: (*bench).deleteWeb,
			want: v1alpha1.TargetReverted},
		"a deletion": {actions: deletion, want: v1alpha1.TargetReverted,
			message: "created again", state: "bad"},
		"a deletion, with more when it is made again": {
			actions: deletion, grows: true, want: v1alpha1.TargetRevertConflict, message: "/data/stamp", state: "bad"},
		"a deletion that somebody has undone alike": {
			actions: deletion, meanwhile: again("bad"), want: v1alpha1.TargetReverted, message: "there again",
			state: "bad"},
		"a deletion whose place somebody else has taken up": {
			actions: deletion, meanwhile: again("new"), want: v1alpha1.TargetRevertConflict, message: "theirs is kept",
			state: "new"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			a, rec := b.attempt(tc.actions)
			if rec = b.pass.send(t.Context(), a, rec); rec.State != v1alpha1.TargetApplied {
				t.Fatalf("not written: %s (%s): %s", rec.State, rec.Reason, rec.Message)
			}
			if tc.meanwhile != nil {
				tc.meanwhile(b)
			}
			if tc.grows {
				b.pass.Targets.Reader, b.pass.Targets.Writer = growing{b.api}, growing{b.api}
			}
			for round := range 2 { // a crash before the record was saved
				got := b.pass.reverted(t.Context(), b.target, *rec.DeepCopy())
				if got.State != tc.want || (round == 0 || tc.grows) && !strings.Contains(got.Message, tc.message) {
					t.Errorf("round %d: %s (%s): %s", round, got.State, got.Reason, got.Message)
				}
				if state, noted := b.state(); state != tc.state || noted != tc.noted {
					t.Errorf("round %d: state %q, note %t", round, state, noted)
				}
			}
		})
	}
}

// What a fix made beside its target goes when the target has vanished.
func TestAVanishedTargetIsToldAsFailedAndTheRestTakenBack(t *testing.T) {
	b := newBench(t)
	a, rec := b.attempt(fixing())
	if rec = b.pass.send(t.Context(), a, rec); rec.State != v1alpha1.TargetApplied {
		t.Fatalf("not written: %s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
	b.deleteWeb()
	rec.Reason, rec.Message = v1alpha1.ReasonVanished, "the object was deleted after its write was sent"
	got := b.pass.reverted(t.Context(), b.target, rec)
	if got.State != v1alpha1.TargetFailed || got.Reason != v1alpha1.ReasonVanished || got.Message != rec.Message {
		t.Errorf("got %s (%s): %s", got.State, got.Reason, got.Message)
	}
	if _, noted := b.state(); noted {
		t.Error("what the fix created is still there")
	}
}
