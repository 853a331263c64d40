// SPDX-License-Identifier: Apache-2.0

package seal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func plan(name string) *v1alpha1.Remediation {
	return &v1alpha1.Remediation{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, UID: types.UID(name + "-uid"), Labels: map[string]string{v1alpha1.LabelPolicy: "p"}},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{Policy: v1alpha1.PlannedPolicy{Name: "p"}, Hash: "h", Targets: 1,
				Waves: []int32{1}, Slices: []string{name + "-0"}}}}
}

// ownedBy is the owner reference to a plan.
func ownedBy(uid types.UID) []metav1.OwnerReference {
	return []metav1.OwnerReference{
		{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Remediation", Name: "plan", UID: uid,
			Controller: ptr.To(true)}}
}

func slice(name string) *v1alpha1.RemediationSlice {
	return &v1alpha1.RemediationSlice{ObjectMeta: metav1.ObjectMeta{Name: name, OwnerReferences: ownedBy("plan-uid")},
		Remediation: "plan",
		Targets: []v1alpha1.Target{
			{Object: v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}}}
}

// world is an API server, and the manager's clients of it.
type world struct {
	api    client.WithWatch
	keeper *Keeper
	reader client.Reader
	writer client.Client
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, v1alpha1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithStatusSubresource(&v1alpha1.Remediation{}).Build()
	w := &world{api: api}
	w.restart()
	return w
}

// restart forgets what the manager had in memory.
func (w *world) restart() {
	w.keeper = &Keeper{Reader: w.api, Writer: w.api, Namespace: "evenkeel-system"}
	w.reader, w.writer = NewReader(w.api, w.keeper), NewClient(w.api, w.keeper)
}

func (w *world) get(t *testing.T, obj client.Object) error {
	t.Helper()
	return w.reader.Get(context.Background(), client.ObjectKeyFromObject(obj), obj)
}

// recorded is a slice with a record in it, as the manager writes both.
func (w *world) recorded(t *testing.T) *v1alpha1.RemediationSlice {
	t.Helper()
	ctx, s := context.Background(), slice("plan-0")
	if err := w.writer.Create(ctx, s); err != nil {
		t.Fatal(err)
	}
	now := metav1.NewMicroTime(time.Date(2026, 1, 1, 0, 0, 0, 123456789, time.UTC))
	s.Records = []v1alpha1.TargetRecord{
		{State: v1alpha1.TargetDone, Write: &v1alpha1.WriteRecord{UID: "u", AppliedAt: &now,
			Fields: []v1alpha1.FieldChange{
				{Path: "/spec/a", Before: &apiextensionsv1.JSON{Raw: []byte(`{"b": 1.0,"a":[null,"<x>"]}`)}}}}}}
	if err := w.writer.Update(ctx, s); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWhatTheManagerWritesIsProvenAfterARestartToo(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	s, p := w.recorded(t), plan("plan")
	if err := w.writer.Create(ctx, p); err != nil {
		t.Fatal(err)
	}
	p.Status.Phase, p.Status.Wave = v1alpha1.PhaseApplying, 1
	if err := w.writer.Status().Update(ctx, p); err != nil {
		t.Fatal(err)
	}
	// What people may say, conditions and other metadata are no part of it.
	p.Spec.DesiredState, p.Spec.RetryToken, p.Spec.Reason = v1alpha1.StateUndone, "1", "why"
	p.Spec.WindowOverride, p.Spec.PausedUntil = "uid", &metav1.Time{Time: time.Unix(0, 0)}
	p.Spec.Requests = []v1alpha1.RequestRecord{{Action: v1alpha1.ActionUndo, User: "ann"}}
	p.Finalizers = nil
	if err := w.api.Update(ctx, p); err != nil {
		t.Fatal(err)
	}
	w.restart()
	for _, obj := range []client.Object{s, p} {
		if err := w.get(t, obj); err != nil {
			t.Error(err)
		}
	}
	list := &v1alpha1.RemediationList{}
	if err := w.reader.List(ctx, list); err != nil || len(list.Items) != 1 {
		t.Errorf("listed %d plans, %v", len(list.Items), err)
	}
}

// What only tells isn't under the seal: the schema's default, and what a plan says of itself.
func TestWhatAPlanTellsIsNotSealed(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	if _, err := w.keeper.Key(ctx); err != nil {
		t.Fatal(err)
	}
	p := plan("plan")
	if err := w.writer.Create(ctx, p); err != nil {
		t.Fatal(err)
	}
	tell := func(generation int64) {
		t.Helper()
		p.Status.ObservedGeneration = generation
		p.Status.Evidence = append(p.Status.Evidence, v1alpha1.FailureEvidence{Unread: "forbidden"})
		p.Status.Conditions = []metav1.Condition{
			{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, ObservedGeneration: max(generation, 0)}}
		if err := w.api.Status().Update(ctx, p); err != nil {
			t.Fatal(err)
		}
		if err := w.get(t, p); err != nil {
			t.Errorf("a plan of which generation %d was observed: %v", generation, err)
		}
	}
	tell(v1alpha1.NotObserved)
	p.Status.Phase = v1alpha1.PhaseApplying
	if err := w.writer.Status().Update(ctx, p); err != nil {
		t.Fatal(err)
	}
	tell(7)
	p.Status.Evidence = nil // as an older schema stores it
	tell(8)
}

func TestForgeriesAreFound(t *testing.T) {
	cases := map[string]func(ctx context.Context, t *testing.T, w *world) client.Object{
		"a plan that somebody made": func(ctx context.Context, _ *testing.T, w *world) client.Object {
			forged := plan("forged")
			_ = w.api.Create(ctx, forged)
			return forged
		},
		"a plan with another's seal": func(ctx context.Context, _ *testing.T, w *world) client.Object {
			genuine, forged := plan("plan"), plan("forged")
			_ = w.writer.Create(ctx, genuine)
			forged.Annotations = genuine.Annotations
			_ = w.api.Create(ctx, forged)
			return forged
		},
		"a plan whose strategy was changed": func(ctx context.Context, _ *testing.T, w *world) client.Object {
			p := plan("plan")
			_ = w.writer.Create(ctx, p)
			p.Spec.Plan.Strategy.Mode = v1alpha1.RemediationAutomatic
			_ = w.api.Update(ctx, p)
			return p
		},
		"a new plan that is said to be approved": func(ctx context.Context, _ *testing.T, w *world) client.Object {
			p := plan("plan")
			_ = w.writer.Create(ctx, p)
			p.Status.Approval = &v1alpha1.ApprovalRecord{}
			_ = w.api.Status().Update(ctx, p)
			return p
		},
		"a new plan that is said to be in a later wave": func(ctx context.Context, _ *testing.T,
			w *world) client.Object {
			p := plan("plan")
			_ = w.writer.Create(ctx, p)
			p.Status.Wave = 3
			_ = w.api.Status().Update(ctx, p)
			return p
		},
		"a record whose value before was changed": func(ctx context.Context, t *testing.T, w *world) client.Object {
			s := w.recorded(t)
			s.Records[0].Write.Fields[0].Before = &apiextensionsv1.JSON{Raw: []byte(`{"hostPath":{"path":"/"}}`)}
			_ = w.api.Update(ctx, s)
			return s
		},
		"records moved to another slice": func(ctx context.Context, t *testing.T, w *world) client.Object {
			s, other := w.recorded(t), slice("plan-1")
			_ = w.writer.Create(ctx, other)
			other.Records, other.Sequence, other.Seal = s.Records, s.Sequence, s.Seal
			_ = w.api.Update(ctx, other)
			return other
		},
		"records under another plan of the name": func(ctx context.Context, t *testing.T, w *world) client.Object {
			s := w.recorded(t)
			s.OwnerReferences = ownedBy("newer-uid")
			_ = w.api.Update(ctx, s)
			return s
		},
		"records that belong to no plan": func(ctx context.Context, t *testing.T, w *world) client.Object {
			s := w.recorded(t)
			s.OwnerReferences = nil
			_ = w.api.Update(ctx, s)
			return s
		},
		"records of a plan's slice under an owner of another kind": func(ctx context.Context, t *testing.T,
			w *world) client.Object {
			s := w.recorded(t)
			s.OwnerReferences[0].Kind = "ConfigMap"
			_ = w.api.Update(ctx, s)
			return s
		},
		"records of another place, under the same plan": func(ctx context.Context, t *testing.T,
			w *world) client.Object {
			s, other := w.recorded(t), slice("plan-1")
			other.Index, other.Records, other.Sequence, other.Seal, other.Annotations = 1, s.Records, s.Sequence,
				s.Seal, s.Annotations
			_ = w.api.Create(ctx, other)
			return other
		},
		"a record of a slice that had none": func(ctx context.Context, _ *testing.T, w *world) client.Object {
			s := slice("plan-0")
			_ = w.writer.Create(ctx, s)
			s.Records = []v1alpha1.TargetRecord{{State: v1alpha1.TargetDone}}
			_ = w.api.Update(ctx, s)
			return s
		},
	}
	for name, forge := range cases {
		t.Run(name, func(t *testing.T) {
			ctx, w := context.Background(), newWorld(t)
			if _, err := w.keeper.Key(ctx); err != nil {
				t.Fatal(err)
			}
			forged := forge(ctx, t, w)
			if err := w.get(t, forged); !errors.Is(err, ErrUnproven) {
				t.Errorf("got %v, want ErrUnproven", err)
			}
			if _, isPlan := forged.(*v1alpha1.Remediation); !isPlan {
				return
			}
			list := &v1alpha1.RemediationList{}
			if err := w.reader.List(ctx, list); err != nil {
				t.Fatal(err)
			}
			for _, p := range list.Items {
				if p.Name == forged.GetName() {
					t.Error("it is listed")
				}
			}
			if err := Doubt(ctx, w.api, w.keeper, client.MatchingLabels{v1alpha1.LabelPolicy: "p"}); !errors.Is(
				err, ErrUnproven) {
				t.Errorf("doubt is %v, want ErrUnproven", err)
			}
		})
	}
}

func TestALostKeyHoldsUntilNothingIsSealedWithIt(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	p := plan("plan")
	if err := w.writer.Create(ctx, p); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: SecretName}}
	if err := w.api.Delete(ctx, secret); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if err := w.get(t, p); !errors.Is(err, ErrUnproven) ||
		!strings.Contains(err.Error(), "kubectl delete remediations") {
		t.Errorf("got %v, want ErrUnproven with what to do", err)
	}
	if err := w.writer.Create(ctx, plan("another")); !errors.Is(err, ErrUnproven) {
		t.Errorf("a new plan: got %v, want ErrUnproven", err)
	}
	if err := w.api.Delete(ctx, p); err != nil {
		t.Fatal(err)
	}
	if err := w.writer.Create(ctx, plan("another")); err != nil {
		t.Errorf("after the sealed ones are gone: %v", err)
	}
}

func TestAnotherKeyIsNamed(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	p := plan("plan")
	if err := w.writer.Create(ctx, p); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: "evenkeel-system", Name: SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	secret.Data[keyField] = []byte(strings.Repeat("x", keyBytes))
	if err := w.api.Update(ctx, secret); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if err := w.get(t, p); !errors.Is(err, ErrUnproven) || !strings.Contains(err.Error(), "sealed with the key") {
		t.Errorf("got %v, want ErrUnproven that names the keys", err)
	}
}

func TestPlansOfAnEarlierVersionAreTakenOverOnce(t *testing.T) {
	ctx, old, records := context.Background(), plan("plan"), slice("plan-0")
	old.Status.Phase = v1alpha1.PhaseSoaking
	records.Records = []v1alpha1.TargetRecord{{State: v1alpha1.TargetApplied}}
	w := newWorld(t, old, records)
	for _, obj := range []client.Object{old, records} {
		if err := w.get(t, obj); err != nil {
			t.Errorf("%s: %v", obj.GetName(), err)
		}
	}
	late := plan("late")
	if err := w.api.Create(ctx, late); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if err := w.get(t, late); !errors.Is(err, ErrUnproven) {
		t.Errorf("one without a seal that came later: got %v, want ErrUnproven", err)
	}
}

// Whoever restores the Secret may bring back its data alone. What has come without a seal
// meanwhile is older than that Secret, and mustn't be taken for an earlier version's.
func TestARestoredKeyTakesNothingOver(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	genuine, forged := plan("plan"), plan("forged")
	if err := w.writer.Create(ctx, genuine); err != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{}
	if err := w.api.Get(ctx, client.ObjectKey{Namespace: "evenkeel-system", Name: SecretName}, secret); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Delete(ctx, secret); err != nil {
		t.Fatal(err)
	}
	if err := w.api.Create(ctx, forged); err != nil {
		t.Fatal(err)
	}
	restored := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: secret.Namespace, Name: secret.Name,
			Labels:            map[string]string{"restored": "yes"},
			CreationTimestamp: metav1.NewTime(time.Now().Add(time.Hour))}, Data: secret.Data}
	if err := w.api.Create(ctx, restored); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if err := w.get(t, genuine); err != nil {
		t.Errorf("what was sealed with the key: %v", err)
	}
	if err := w.get(t, forged); !errors.Is(err, ErrUnproven) {
		t.Errorf("what came without a seal: got %v, want ErrUnproven", err)
	}
}

// A slice that a person restores has another UID, and is the same slice of the same plan.
func TestASliceThatIsRestoredUnderItsPlanIsProven(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	backup := w.recorded(t).DeepCopy()
	if err := w.api.Delete(ctx, slice("plan-0")); err != nil {
		t.Fatal(err)
	}
	backup.UID, backup.ResourceVersion = "restored", ""
	if err := w.api.Create(ctx, backup); err != nil {
		t.Fatal(err)
	}
	restored := slice("plan-0")
	if err := w.get(t, restored); err != nil {
		t.Errorf("the slice: %v", err)
	}
	if err := CheckOwner(restored, plan("plan")); err != nil {
		t.Errorf("for its plan: %v", err)
	}
	again := plan("plan")
	again.UID = "restored-uid"
	if err := CheckOwner(restored, again); !errors.Is(err, ErrUnproven) ||
		!strings.Contains(err.Error(), "made again") {
		t.Errorf("for a plan that was made again: %v, want ErrUnproven that says so", err)
	}
	empty := slice("plan-0")
	if err := CheckOwner(empty, again); err != nil {
		t.Errorf("nothing is recorded, and so nothing belongs to anybody: %v", err)
	}
}

func TestNothingIsRecordedForNoPlan(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	s := slice("plan-0")
	s.OwnerReferences = nil
	if err := w.writer.Create(ctx, s); err != nil {
		t.Fatal(err)
	}
	s.Records = []v1alpha1.TargetRecord{{State: v1alpha1.TargetIntent}}
	if err := w.writer.Update(ctx, s); !errors.Is(err, ErrUnproven) {
		t.Errorf("got %v, want ErrUnproven: the seal would hold under any plan", err)
	}
}

// A window's kind is under the seal of the plan that holds it: under definitions, or by a manager, that don't know it
// the plan isn't proven, and writes nothing. Turned round, Deny would be the only time at which it writes.
func TestAPlanWhoseWindowsHaveLostTheirKindIsNotProven(t *testing.T) {
	for kind, proven := range map[v1alpha1.WindowKind]bool{"": true, v1alpha1.WindowDeny: false} {
		ctx, w := context.Background(), newWorld(t)
		p := plan("plan")
		p.Spec.Plan.Strategy.Windows = []v1alpha1.MaintenanceWindow{{Kind: kind, Schedule: "0 0 * * *",
			Duration: metav1.Duration{Duration: time.Hour}}}
		p.Spec.Plan.Strategy.SetDefaults() // sets none
		if err := w.writer.Create(ctx, p); err != nil {
			t.Fatal(err)
		}
		p.Spec.Plan.Strategy.Windows[0].Kind = "" // pruned
		if err := w.api.Update(ctx, p); err != nil {
			t.Fatal(err)
		}
		if err := w.get(t, p); (err == nil) != proven || err != nil && !errors.Is(err, ErrUnproven) {
			t.Errorf("kind %q: %v, want it proven: %v", kind, err, proven)
		}
	}
}

// Whoever makes a plan before the manager's first one mustn't have it taken for an earlier version's.
func TestTheKeyIsMadeAtTheStart(t *testing.T) {
	ctx, w := context.Background(), newWorld(t)
	if err := w.keeper.Start(ctx); err != nil {
		t.Fatal(err)
	}
	forged := plan("forged")
	if err := w.api.Create(ctx, forged); err != nil {
		t.Fatal(err)
	}
	if err := w.writer.Create(ctx, plan("first")); err != nil {
		t.Fatal(err)
	}
	w.restart()
	if err := w.get(t, forged); !errors.Is(err, ErrUnproven) {
		t.Errorf("a plan that came before the manager's first: got %v, want ErrUnproven", err)
	}
}

func TestTheStartTriesUntilTheKeyIsThere(t *testing.T) {
	w := newWorld(t)
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		w.keeper.Reader = interceptor.NewClient(w.api, interceptor.Funcs{Get: func(ctx context.Context,
			api client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
			if reads++; reads < 3 {
				return errors.New("the API server is away")
			}
			return api.Get(ctx, key, obj, opts...)
		}})
		if err := w.keeper.Start(context.Background()); err != nil {
			t.Error(err)
		}
		if reads != 3 {
			t.Errorf("the key was read %d times, want 3", reads)
		}
	})
	secret := &corev1.Secret{}
	if err := w.api.Get(context.Background(), client.ObjectKey{Namespace: "evenkeel-system", Name: SecretName},
		secret); err != nil {
		t.Error(err)
	}
}
