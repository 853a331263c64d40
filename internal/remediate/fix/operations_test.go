// SPDX-License-Identifier: Apache-2.0

package fix

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/action"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/fixtest"
)

// recorded prepares the fix, and returns its nth write and that write's operation.
func (d *desk) recorded(n int) (*Write, Operation) {
	d.t.Helper()
	if rec := d.Prepare(d.t.Context()); rec.State != v1alpha1.TargetIntent {
		d.t.Fatalf("%s (%s): %s", rec.State, rec.Reason, rec.Message)
	}
	return d.Writes[n], OperationOf(d.Writes[n].Type)
}

// What comes of a creation is found out from the object that it makes: ours by its marks.
func TestACreationIsKnownByItsMarks(t *testing.T) {
	theirs := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "note"}, Data: data}
	}
	cases := map[string]struct {
		reason string
		given  func(*desk)
		find   Side
		// send is what sending it comes to then, and undo what undoing it leaves.
		send bool
		undo v1alpha1.TargetState
		left bool
	}{
		"nothing is there": {reason: "it hasn't happened", given: func(*desk) {}, find: SideBefore, send: true,
			undo: v1alpha1.TargetReverted},
		"somebody has made the same": {reason: "all that ours would hold is there, and stays",
			given: func(d *desk) {
				d.create(theirs(map[string]string{"a": "b", "more": "x"}))
			}, find: SideAfter, send: true,
			undo: v1alpha1.TargetReverted, left: true},
		"somebody has made another": {reason: "it isn't ours to change",
			given: func(d *desk) { d.create(theirs(map[string]string{"a": "c"})) }, find: SideNeither},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.proposes(fixtest.SetState("good"), note(map[string]any{"a": "b"}))
			w, does := d.recorded(0)
			tc.given(d)
			f, err := does.Find(t.Context(), d.Targets, d.Target.Object, &w.Record)
			if err != nil || f.Side != tc.find {
				t.Fatalf("%s: side %d, %v", tc.reason, f.Side, err)
			}
			if err := does.Send(t.Context(), d.Targets, w); (err == nil) != tc.send {
				t.Fatalf("%s: sending it: %v", tc.reason, err)
			}
			if !tc.send {
				return
			}
			if f, err = does.Find(t.Context(), d.Targets, d.Target.Object, &w.Record); err != nil ||
				f.Side != SideAfter {
				t.Fatalf("%s: after it, side %d, %v", tc.reason, f.Side, err)
			}
			if w.Record.ResourceVersion != f.Object.GetResourceVersion() || w.Record.DigestAfter == "" {
				t.Errorf("%s: the record is %+v", tc.reason, w.Record)
			}
			at := metav1.NewMicroTime(fixtest.Now)
			w.Record.AppliedTime = &at
			if u := does.Undo(t.Context(), d.Targets, d.Target.Object, &w.Record, f); u.State != tc.undo {
				t.Errorf("%s: undoing it: %+v", tc.reason, u)
			}
			err = d.api.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "note"}, &corev1.ConfigMap{})
			if left := err == nil; left != tc.left {
				t.Errorf("%s: it is left: %t", tc.reason, left)
			}
		})
	}
}

// What was made is deleted again while it is as we made it, and ours.
func TestWhatWasMadeIsDeletedUnlessItIsSomebodyElsesByNow(t *testing.T) {
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "note")
	cases := map[string]struct {
		reason string
		change func(*corev1.ConfigMap, *v1alpha1.WriteRecord)
		answer error
		want   v1alpha1.TargetState
		err    bool
		left   bool
	}{
		"it is as we made it": {reason: "it goes", want: v1alpha1.TargetReverted},
		"somebody has changed it": {reason: "it is kept, and told", want: v1alpha1.TargetRevertConflict, left: true,
			change: func(c *corev1.ConfigMap, _ *v1alpha1.WriteRecord) { c.Data["a"] = "theirs" }},
		"somebody has changed it, and nobody knew that it was made": {
			reason: "its content at first isn't known", want: v1alpha1.TargetReverted,
			change: func(c *corev1.ConfigMap, w *v1alpha1.WriteRecord) { c.Data["a"], w.AppliedTime = "theirs", nil }},
		"it is another of its name": {reason: "ours is gone", want: v1alpha1.TargetReverted, left: true,
			change: func(_ *corev1.ConfigMap, w *v1alpha1.WriteRecord) { w.UID = "older" }},
		"it bears another plan's mark": {reason: "it is that one's", want: v1alpha1.TargetReverted, left: true,
			change: func(c *corev1.ConfigMap, _ *v1alpha1.WriteRecord) {
				c.Labels[v1alpha1.LabelRemediation] = "plan-2"
			}},
		"it was made for another target": {reason: "it is that one's", want: v1alpha1.TargetReverted, left: true,
			change: func(c *corev1.ConfigMap, _ *v1alpha1.WriteRecord) {
				c.Annotations[v1alpha1.AnnotationCreatedFor] = "u2"
			}},
		"somebody has just deleted it": {reason: "that is all", answer: gone, want: v1alpha1.TargetReverted,
			left: true},
		"it can't be deleted now": {reason: "it is tried again", answer: unavailable(), err: true, left: true},
		"its record can't be read": {reason: "nobody knows what to undo", err: true, left: true,
			change: func(_ *corev1.ConfigMap, w *v1alpha1.WriteRecord) { w.Manifest = nil }},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.proposes(fixtest.SetState("good"), note(map[string]any{"a": "b"}))
			w, does := d.recorded(0)
			if err := does.Send(t.Context(), d.Targets, w); err != nil {
				t.Fatal(err)
			}
			at := metav1.NewMicroTime(fixtest.Now)
			w.Record.AppliedTime = &at
			key, live := client.ObjectKey{Namespace: "shop", Name: "note"}, &corev1.ConfigMap{}
			if err := d.api.Get(t.Context(), key, live); err != nil {
				t.Fatal(err)
			}
			if tc.change != nil {
				tc.change(live, &w.Record)
				if err := d.api.Update(t.Context(), live); err != nil {
					t.Fatal(err)
				}
			}
			f := Finding{Side: SideAfter, Object: d.live("note")}
			if tc.answer != nil {
				d.intercepts(interceptor.Funcs{Delete: func(context.Context, client.WithWatch, client.Object,
					...client.DeleteOption) error {
					return tc.answer
				}})
			}
			u := does.Undo(t.Context(), d.Targets, d.Target.Object, &w.Record, f)
			if u.State != tc.want || (u.Err != nil) != tc.err {
				t.Errorf("%s: %+v", tc.reason, u)
			}
			if err := d.api.Get(t.Context(), key, live); (err == nil) != tc.left {
				t.Errorf("%s: it is left: %t", tc.reason, err == nil)
			}
		})
	}
}

// live is a ConfigMap as the controller reads it.
func (d *desk) live(name string) *unstructured.Unstructured {
	d.t.Helper()
	obj, err := d.Targets.Read(d.t.Context(), v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap",
		Namespace: "shop", Name: name})
	if err != nil {
		d.t.Fatal(err)
	}
	return obj
}

// A dry run of a creation meets what is there already.
func TestADryRunOfACreation(t *testing.T) {
	one := func(data map[string]string) *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "note"}, Data: data}
	}
	answers := func(d *desk, err error) {
		d.intercepts(interceptor.Funcs{Create: func(_ context.Context, _ client.WithWatch, obj client.Object,
			_ ...client.CreateOption) error {
			return err
		}})
	}
	exists := apierrors.NewAlreadyExists(schema.GroupResource{Resource: "configmaps"}, "note")
	cases := map[string]struct {
		reason string
		made   map[string]any
		given  func(*desk)
		want   v1alpha1.TargetState
		why    string
		says   string
	}{
		"nothing is there": {reason: "it may be made"},
		"the same is there": {reason: "then it needn't be made",
			given: func(d *desk) { d.create(one(map[string]string{"a": "b"})) }},
		"another is there": {reason: "it isn't ours to change",
			given: func(d *desk) { d.create(one(map[string]string{"a": "c"})) }, want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonExists, says: "ConfigMap shop/note exists"},
		"it was there, and is gone": {reason: "it is tried again", given: func(d *desk) { answers(d, exists) },
			want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, says: "deleted a moment ago"},
		"it is there, and can't be read": {reason: "it is tried again", given: func(d *desk) {
			d.create(one(nil))
			d.unreadable("note", unavailable())
		}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonRetrying, says: "try again"},
		"what it needs is missing": {reason: "that is the fix's fault, and no news of the target",
			given: func(d *desk) {
				answers(d, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"))
			}, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonDryRunRefused, says: "can't be created"},
		"the server refuses it": {reason: "it would refuse the write",
			given: func(d *desk) { answers(d, apierrors.NewBadRequest("no")) }, want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonDryRunRefused, says: "no"},
		"its kind isn't served": {reason: "it may be soon", made: map[string]any{"apiVersion": "example.com/v1",
			"kind": "Widget", "metadata": map[string]any{"name": "w"}}, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonNotServed},
		"it lives in no namespace": {reason: "an object of a namespace gets none of the cluster",
			made: map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": "w"}},
			want: v1alpha1.TargetFailed, why: v1alpha1.ReasonFixInvalid, says: "another in that namespace"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.Object = d.read()
			if tc.made == nil {
				tc.made = note(map[string]any{"a": "b"}).Object
			}
			d.Steps = []action.Step{{Type: v1alpha1.ActionCreate, Object: tc.made}}
			if tc.given != nil {
				tc.given(d)
			}
			rec := dryRunOnServer(t.Context(), d.Attempt)
			if rec == nil {
				rec = &v1alpha1.TargetRecord{}
			}
			if rec.State != tc.want || rec.Reason != tc.why || !strings.Contains(rec.Message, tc.says) {
				t.Fatalf("%s: %s (%s): %s", tc.reason, rec.State, rec.Reason, rec.Message)
			}
			if tc.want != "" {
				return
			}
			w := d.Writes[0].Record
			if w.Action != v1alpha1.ActionCreate || w.UID != "" || w.ResourceVersion != "" || w.DigestAfter == "" ||
				w.Object.String() != "ConfigMap shop/note" || !strings.Contains(string(w.Manifest.Raw), `"plan-1"`) ||
				!strings.Contains(string(w.Manifest.Raw), `"u1"`) ||
				!strings.Contains(string(w.Manifest.Raw), `"state"`) {
				t.Errorf("%s: the record is %+v, %s", tc.reason, w, w.Manifest.Raw)
			}
		})
	}
}

// A removal has happened as soon as the object is going; who deleted it makes no difference.
func TestWhenARemovalHasHappened(t *testing.T) {
	cases := map[string]struct {
		given func(*desk)
		want  Side
		err   bool
	}{
		"the object is there": {given: func(*desk) {}, want: SideBefore},
		"it is gone":          {given: (*desk).delete, want: SideAfter},
		"another has its name": {given: func(d *desk) {
			d.delete()
			d.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u2"}})
		}, want: SideAfter},
		"it is being deleted": {given: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) { web.Finalizers = []string{"example.com/x"} })
			d.delete()
		}, want: SideAfter},
		"it can't be read": {given: func(d *desk) { d.unreadable("web", unavailable()) }, err: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			tc.given(d)
			f, err := (deletion{}).Find(t.Context(), d.Targets, d.Target.Object, &v1alpha1.WriteRecord{UID: "u1"})
			if f.Side != tc.want || (err != nil) != tc.err {
				t.Errorf("side %d, %v", f.Side, err)
			}
		})
	}
}

// A deletion is undone by making the object again, unless somebody else has.
func TestADeletionIsUndone(t *testing.T) {
	again := func(state, manager string) func(*desk) {
		return func(d *desk) {
			d.delete()
			web := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u2"},
				Data: map[string]string{"state": state}}
			d.create(web)
			d.intercepts(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
				obj client.Object, opts ...client.GetOption) error {
				err := c.Get(ctx, key, obj, opts...)
				obj.SetManagedFields([]metav1.ManagedFieldsEntry{
					fixtest.Owner(manager, "", `{"f:data": {"f:state": {}}}`, 1)})
				return err
			}})
		}
	}
	grown := func(d *desk) {
		again("bad", v1alpha1.RollbackFieldManager)(d)
		d.change(func(web *corev1.ConfigMap) { web.Data["stamp"] = "x" })
	}
	cases := map[string]struct {
		reason string
		given  func(*desk)
		want   v1alpha1.TargetState
		why    string
		says   string
		beyond string
		err    bool
	}{
		"it is gone": {reason: "it is made again", given: (*desk).delete, want: v1alpha1.TargetReverted,
			says: "it was created again"},
		"its namespace is gone": {reason: "nothing can be made there, however long it is tried", given: func(d *desk) {
			d.delete()
			d.refusesCreate(apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, "shop"))
		}, want: v1alpha1.TargetRevertConflict, why: v1alpha1.ReasonNoUndo, says: "its namespace shop is gone"},
		"its namespace is going": {reason: "nor there", given: func(d *desk) {
			d.delete()
			terminating := apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New("no"))
			terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
			d.refusesCreate(terminating)
		}, want: v1alpha1.TargetRevertConflict, why: v1alpha1.ReasonNoUndo, says: "its namespace shop is gone"},
		"we may not make it": {reason: "that may change", given: func(d *desk) {
			d.delete()
			d.refusesCreate(apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New("no")))
		}, err: true},
		"it waits for a finalizer": {reason: "its end can't be stopped", given: func(d *desk) {
			d.change(func(web *corev1.ConfigMap) { web.Finalizers = []string{"example.com/x"} })
			d.delete()
		}, want: v1alpha1.TargetRevertConflict, why: v1alpha1.ReasonNoUndo, says: "example.com/x"},
		"somebody has made it again": {reason: "that is as good", given: again("bad", "kubectl"),
			want: v1alpha1.TargetReverted, says: "it is there again, with the UID u2"},
		"we have made it again before a crash": {reason: "that is as good",
			given: again("bad", v1alpha1.RollbackFieldManager), want: v1alpha1.TargetReverted,
			says: "it is there again"},
		"we have made it again, and a webhook added to it": {reason: "that is told", given: grown,
			want: v1alpha1.TargetReverted, beyond: "/data/stamp"},
		"somebody has made another": {reason: "theirs is kept", given: again("new", "kubectl"),
			want: v1alpha1.TargetRevertConflict, why: v1alpha1.ReasonConflict, says: "theirs is kept"},
		"it can't be made now": {reason: "it is tried again", given: func(d *desk) {
			d.delete()
			d.refusesCreate(unavailable())
		}, err: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.proposes(policy.Action{Type: policy.ActionDelete})
			w, does := d.recorded(0)
			tc.given(d)
			f, err := does.Find(t.Context(), d.Targets, d.Target.Object, &w.Record)
			if err != nil || f.Side != SideAfter {
				t.Fatalf("side %d, %v", f.Side, err)
			}
			u := does.Undo(t.Context(), d.Targets, d.Target.Object, &w.Record, f)
			if u.State != tc.want || u.Reason != tc.why || !strings.Contains(u.Message, tc.says) ||
				u.Beyond != tc.beyond || (u.Err != nil) != tc.err {
				t.Errorf("%s: %+v", tc.reason, u)
			}
		})
	}
	if u := (deletion{}).Undo(t.Context(), nil, v1alpha1.ObjectReference{}, &v1alpha1.WriteRecord{},
		Finding{}); u.Err == nil {
		t.Errorf("without a manifest: %+v", u)
	}
}

// A deletion and an eviction are guarded by what was read, and dry runs of them are asked.
func TestADryRunOfARemoval(t *testing.T) {
	yes, one := true, int32(1)
	pod := func(change func(*corev1.Pod)) *corev1.Pod {
		p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "p1",
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "rs", UID: "rs1", Controller: &yes}}}}
		if change != nil {
			change(p)
		}
		return p
	}
	rs := &appsv1.ReplicaSet{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "rs", UID: "rs1",
		OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: "d1", Controller: &yes}}},
		Spec: appsv1.ReplicaSetSpec{Replicas: &one},
		Status: appsv1.ReplicaSetStatus{Replicas: 1, FullyLabeledReplicas: 1, AvailableReplicas: 1,
			ReadyReplicas: 1}}
	web := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "d1"}}
	widget := func(p *corev1.Pod) {
		p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = "example.com/v1", "Widget"
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Group: "apps", Resource: "replicasets"}, "rs",
		errors.New("no"))
	budget := apierrors.NewTooManyRequests("Cannot evict pod", 1)
	budget.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: "DisruptionBudget", Message: "one is needed"}}
	cases := map[string]struct {
		reason  string
		objects []client.Object
		pod     *corev1.Pod
		given   func(*desk)
		want    v1alpha1.TargetState
		why     string
		says    string
		root    string
	}{
		"its controller is well": {reason: "it makes another", objects: []client.Object{rs, web}, pod: pod(nil),
			root: "Deployment shop/web"},
		"nobody made it": {reason: "nothing would make another",
			pod: pod(func(p *corev1.Pod) { p.OwnerReferences = nil }), want: v1alpha1.TargetFailed,
			why: v1alpha1.ReasonFixInvalid, says: "no controller made the Pod"},
		"its controller is gone": {reason: "the Pod goes too", pod: pod(nil), want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "is gone"},
		"its controller may not be read": {reason: "a person adds the permission", pod: pod(nil),
			given: func(d *desk) { d.unreadable("rs", forbidden) }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonMissingPermissions, says: "replicasets"},
		"its controller can't be read": {reason: "it is tried again", pod: pod(nil),
			given: func(d *desk) { d.unreadable("rs", unavailable()) }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "try again"},
		"nobody can tell its controller's health": {reason: "nothing would show harm", pod: pod(widget),
			given: func(d *desk) { d.widgets() }, want: v1alpha1.TargetFailed, why: v1alpha1.ReasonHealthUnknown,
			says: "Widget shop/rs, which made the Pod"},
		"nobody can tell its controller's health, and a person takes it for well": {reason: "health.unknown: Allow",
			pod: pod(widget), given: func(d *desk) {
				d.widgets()
				d.Plan.Rollout.UnknownHealth = v1alpha1.UnknownHealthAllow
			}, root: "Widget shop/rs"},
		"a disruption budget keeps it": {reason: "it waits", objects: []client.Object{rs, web}, pod: pod(nil),
			given: func(d *desk) {
				d.intercepts(interceptor.Funcs{SubResourceCreate: func(context.Context, client.Client, string,
					client.Object, client.Object, ...client.SubResourceCreateOption) error {
					return budget
				}})
			}, want: v1alpha1.TargetPending, why: v1alpha1.ReasonDisruptionBudget, says: "one is needed"},
		"who made its controller can't be read": {reason: "it is tried again", objects: []client.Object{rs, web},
			pod: pod(nil), given: func(d *desk) { d.unreadable("web", unavailable()) }, want: v1alpha1.TargetPending,
			why: v1alpha1.ReasonRetrying, says: "try again"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, append(tc.objects, tc.pod)...)
			d.Targets.Mapper.(*meta.DefaultRESTMapper).Add(appsv1.SchemeGroupVersion.WithKind("ReplicaSet"),
				meta.RESTScopeNamespace)
			d.Target.Object = v1alpha1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: "web-1",
				UID: "p1"}
			d.Object = d.read()
			d.Steps = []action.Step{{Type: v1alpha1.ActionEvict}}
			if tc.given != nil {
				tc.given(d)
			}
			rec := dryRunOnServer(t.Context(), d.Attempt)
			if rec == nil {
				rec = &v1alpha1.TargetRecord{}
			}
			if rec.State != tc.want || rec.Reason != tc.why || !strings.Contains(rec.Message, tc.says) {
				t.Fatalf("%s: %s (%s): %s", tc.reason, rec.State, rec.Reason, rec.Message)
			}
			if tc.want != "" {
				return
			}
			w := d.Writes[0].Record
			if w.Controller == nil || w.Controller.Name != "rs" || w.HealthBefore == "" || w.UID != "p1" ||
				tc.root != "" && (w.Root == nil || w.Root.String() != tc.root) {
				t.Errorf("%s: the record is %+v", tc.reason, w)
			}
		})
	}
}

// widgets answers reads of a Widget with one that tells no health.
func (d *desk) widgets() {
	d.intercepts(interceptor.Funcs{Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey,
		obj client.Object, opts ...client.GetOption) error {
		if obj.GetObjectKind().GroupVersionKind().Kind != "Widget" {
			return c.Get(ctx, key, obj, opts...)
		}
		obj.SetNamespace(key.Namespace)
		obj.SetName(key.Name)
		obj.SetUID("rs1")
		return nil
	}})
}

// A write changes nothing unless its object is as it was read.
func TestAWriteIsGuardedByWhatWasRead(t *testing.T) {
	for name, act := range map[string]policy.Action{"a patch": fixtest.SetState("good"),
		"a deletion": {Type: policy.ActionDelete}} {
		d := newDesk(t)
		d.proposes(act)
		w, does := d.recorded(0)
		d.change(func(web *corev1.ConfigMap) { web.Labels = map[string]string{"a": "b"} })
		if err := does.Send(t.Context(), d.Targets, w); err == nil {
			t.Errorf("%s is written though the object has changed", name)
		}
		if web := d.read(); web.GetLabels()["a"] != "b" {
			t.Errorf("%s has changed the object", name)
		}
	}
}

// A patch is undone where what it wrote is there, and only as a whole.
func TestAPatchIsUndone(t *testing.T) {
	set := func(value string) func(*desk) {
		return func(d *desk) { d.change(func(web *corev1.ConfigMap) { web.Data["state"] = value }) }
	}
	gone := apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, "web")
	refuses := func(err error) func(*desk) {
		return func(d *desk) {
			d.intercepts(interceptor.Funcs{Patch: func(context.Context, client.WithWatch, client.Object, client.Patch,
				...client.PatchOption) error {
				return err
			}})
		}
	}
	cases := map[string]struct {
		reason string
		find   func(*desk)
		side   Side
		undo   func(*desk)
		want   v1alpha1.TargetState
		why    string
		says   string
		beyond string
		err    bool
	}{
		"what we wrote is there":         {reason: "it is set back", side: SideAfter, want: v1alpha1.TargetReverted},
		"what was before is there":       {reason: "nothing is to be undone", find: set("bad"), side: SideBefore},
		"somebody has set another value": {reason: "theirs is kept", find: set("theirs"), side: SideNeither},
		"the object is gone":             {reason: "nothing is left to undo", find: (*desk).delete, side: SideGone},
		"another has its name": {reason: "nothing is left to undo", find: func(d *desk) {
			d.delete()
			d.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "u2"}})
		}, side: SideGone},
		"somebody deletes it meanwhile": {reason: "nothing is left to undo", side: SideAfter, undo: refuses(gone),
			want: v1alpha1.TargetSkipped, why: v1alpha1.ReasonGone},
		"the server refuses it": {reason: "it is tried again", side: SideAfter, undo: refuses(unavailable()),
			err: true},
		"a webhook changes more at it": {reason: "that is told", side: SideAfter,
			undo: func(d *desk) { d.webhook(setNested(d.t, "x", "data", "more")) }, want: v1alpha1.TargetReverted,
			beyond: "/data/more"},
		"a webhook sets another value": {reason: "only what the server answers is believed", side: SideAfter,
			undo: func(d *desk) { d.webhook(setNested(d.t, "worse", "data", "state")) },
			want: v1alpha1.TargetRevertConflict, why: v1alpha1.ReasonConflict, says: "stored other values"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			w, does := d.recorded(0)
			if err := does.Send(t.Context(), d.Targets, w); err != nil {
				t.Fatal(err)
			}
			if tc.find != nil {
				tc.find(d)
			}
			f, err := does.Find(t.Context(), d.Targets, d.Target.Object, &w.Record)
			if err != nil || f.Side != tc.side {
				t.Fatalf("%s: side %d, %v", tc.reason, f.Side, err)
			}
			if tc.side != SideAfter {
				return
			}
			if tc.undo != nil {
				tc.undo(d)
			}
			u := does.Undo(t.Context(), d.Targets, d.Target.Object, &w.Record, f)
			if u.State != tc.want || u.Reason != tc.why || !strings.Contains(u.Message, tc.says) ||
				u.Beyond != tc.beyond || (u.Err != nil) != tc.err {
				t.Errorf("%s: %+v", tc.reason, u)
			}
		})
	}
	d := newDesk(t)
	d.unreadable("web", unavailable())
	if _, err := (Patching{}).Find(t.Context(), d.Targets, d.Target.Object, &v1alpha1.WriteRecord{}); err == nil {
		t.Error("an object that can't be read is found")
	}
}

// A record that can't be read undoes nothing, and says so.
func TestARecordThatCantBeRead(t *testing.T) {
	broken := &v1alpha1.WriteRecord{UID: "u1", Fields: []v1alpha1.FieldChange{
		{Path: "/data/state", After: &apiextensionsv1.JSON{Raw: []byte("{")}}}}
	keys := &v1alpha1.WriteRecord{UID: "u1", Keys: []v1alpha1.PatchOperation{
		{Op: "test", Path: "/x", Value: &apiextensionsv1.JSON{Raw: []byte("{")}}}}
	d := newDesk(t)
	live := d.read()
	for name, w := range map[string]*v1alpha1.WriteRecord{"its fields": broken, "its keys": keys} {
		if u := (Patching{}).Undo(t.Context(), d.Targets, d.Target.Object, w, Finding{Object: live}); u.Err == nil {
			t.Errorf("%s: %+v", name, u)
		}
		if _, _, err := InverseOf(w, live); err == nil {
			t.Errorf("%s: there is an inverse", name)
		}
	}
	if s, err := SideOf(live, broken); err == nil || s != SideNeither {
		t.Errorf("side %d, %v", s, err)
	}
	if err := (Patching{}).Keep(broken, live); err == nil {
		t.Error("it is kept")
	}
	if err := Arrived(broken, live); err == nil {
		t.Error("it is taken for arrived")
	}
	if u := ChangedSince(broken, live); u.State != v1alpha1.TargetRevertConflict || strings.Contains(u.Message, "(") {
		t.Errorf("%+v", u)
	}
	manifest := &v1alpha1.WriteRecord{Manifest: &apiextensionsv1.JSON{Raw: []byte("{")}}
	for name, does := range map[string]Operation{"a creation": creation{}, "a deletion": deletion{}} {
		if u := does.Undo(t.Context(), d.Targets, d.Target.Object, manifest, Finding{Object: live}); u.Err == nil {
			t.Errorf("%s: %+v", name, u)
		}
	}
	if _, err := (creation{}).Find(t.Context(), d.Targets, d.Target.Object, manifest); err == nil {
		t.Error("a creation is found")
	}
	if err := (creation{}).Keep(manifest, live); err == nil {
		t.Error("a creation is kept")
	}
}

// Whose change keeps a write from being undone is told by its first field.
func TestWhatSomebodyElseHasChangedIsNamed(t *testing.T) {
	rec := &v1alpha1.WriteRecord{}
	if err := SetFields(rec, []action.Field{{Path: "/data/a", After: "1", HasAfter: true},
		{Path: "/data/b", After: "1", HasAfter: true}, {Path: "/data/c", Before: "1", HasBefore: true}}); err != nil {
		t.Fatal(err)
	}
	for says, data := range map[string]map[string]any{
		"(/data/a)": {"a": "2", "b": "2"}, "(/data/b)": {"a": "1", "b": "2"},
		"(/data/c)":         {"a": "1", "b": "1", "c": "3"},
		"our write: theirs": {"a": "1", "b": "1"}} {
		if u := ChangedSince(rec, fixtest.Holding(data, "ConfigMap")); !strings.Contains(u.Message, says) {
			t.Errorf("%v: %s", data, u.Message)
		}
	}
	if u := ChangedSince(rec, nil); u.Reason != v1alpha1.ReasonConflict {
		t.Errorf("%+v", u)
	}
}

// What the server changed at the write beyond its dry run goes into the record, to be
// undone with the rest.
func TestWhatComesWithAWriteIsRecorded(t *testing.T) {
	cases := map[string]struct {
		reason  string
		change  func(*testing.T, *unstructured.Unstructured)
		beyond  string
		fields  int
		surplus string
	}{
		"nothing": {reason: "as the dry run said", change: func(*testing.T, *unstructured.Unstructured) {}, fields: 1},
		"another field": {reason: "it is undone too", change: func(t *testing.T, obj *unstructured.Unstructured) {
			setNested(t, "x", "data", "more")(obj)
		}, beyond: "/data/more", fields: 2},
		"a field that is too large": {reason: "it is named, and left",
			change: func(t *testing.T, obj *unstructured.Unstructured) {
				setNested(t, strings.Repeat("x", maxBeyondBytes), "data", "more")(obj)
			}, beyond: "/data/more", fields: 1, surplus: "/data/more"},
		"another object": {reason: "nothing of it is ours", change: func(t *testing.T, obj *unstructured.Unstructured) {
			setNested(t, "x", "data", "more")(obj)
			obj.SetUID("u2")
		}, fields: 1},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			w, does := d.recorded(0)
			d.webhook(func(obj *unstructured.Unstructured) { tc.change(t, obj) })
			if err := does.Send(t.Context(), d.Targets, w); err != nil {
				t.Fatal(err)
			}
			if w.Record.Beyond != tc.beyond || len(w.Record.Fields) != tc.fields || w.Record.Surplus != tc.surplus {
				t.Errorf("%s: %+v", tc.reason, w.Record)
			}
			noted := Applied(v1alpha1.TargetRecord{State: v1alpha1.TargetIntent, Write: &w.Record},
				metav1.NewMicroTime(fixtest.Now))
			if c := CheckBeyond(noted); (c != nil) != (tc.beyond != "") ||
				c != nil && (c.Reason != v1alpha1.ReasonFixChangesMore || !strings.Contains(c.Message, tc.beyond) ||
					strings.Contains(c.Message, "can't be reverted") != (tc.surplus != "")) {
				t.Errorf("%s: %+v", tc.reason, c)
			}
		})
	}
}

// When writes were made is kept: a later finding doesn't move it.
func TestAppliedKeepsWhenAWriteWasMade(t *testing.T) {
	early, late := metav1.NewMicroTime(fixtest.Now), metav1.NewMicroTime(fixtest.Now.Add(time.Hour))
	rec := WithWrites(v1alpha1.TargetRecord{State: v1alpha1.TargetIntent, Attempts: 3, Message: "x"},
		[]*Write{{Record: v1alpha1.WriteRecord{UID: "1", AppliedTime: &early}},
			{Record: v1alpha1.WriteRecord{UID: "2"}}})
	if len(rec.Preceding) != 1 || rec.Preceding[0].UID != "1" || rec.Write == nil || rec.Write.UID != "2" {
		t.Fatalf("the writes are %+v", rec)
	}
	got := Applied(rec, late)
	if got.State != v1alpha1.TargetApplied || got.Attempts != 0 || got.Message != "" ||
		!got.Preceding[0].AppliedTime.Equal(&early) || !got.Write.AppliedTime.Equal(&late) {
		t.Errorf("got %+v", got)
	}
}

// A recorded write is carried out by what its action says.
func TestWhatCarriesOutARecordedWrite(t *testing.T) {
	for recorded, want := range map[v1alpha1.ActionType]Operation{"": Patching{}, v1alpha1.ActionPatch: Patching{},
		v1alpha1.ActionCreate: creation{}, v1alpha1.ActionDelete: deletion{}, v1alpha1.ActionEvict: eviction{}} {
		if got := OperationOf(recorded); got != want {
			t.Errorf("%q: %T", recorded, got)
		}
	}
	for recorded, want := range map[v1alpha1.ActionType]bool{"": false, v1alpha1.ActionCreate: false,
		v1alpha1.ActionDelete: true, v1alpha1.ActionEvict: true} {
		if got := Removes(&v1alpha1.WriteRecord{Action: recorded}); got != want {
			t.Errorf("%q removes: %t", recorded, got)
		}
	}
	if Removes(nil) {
		t.Error("no write removes")
	}
}
