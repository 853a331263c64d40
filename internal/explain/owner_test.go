// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
	"evenkeel.dev/evenkeel/internal/kube"
)

// Whoever owns an object that was changed learns how to undo that and how to opt out, also
// once the object is clean; of a change that stands no more, nothing is left to undo.
func TestAChangeThatStandsSaysHowToUndoItAndHowToOptOut(t *testing.T) {
	then := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	web := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	undo := []string{"to undo all that plan tags-1 changed: evenkeel rollout undo tags-1",
		"to keep remediation off this object from now on: kubectl annotate deployment.v1.apps web " +
			"evenkeel.dev/remediation=paused -n shop"}
	for name, tc := range map[string]struct {
		change func(*Touch)
		want   []string
	}{
		"it stands":               {func(*Touch) {}, undo},
		"it was undone":           {func(t *Touch) { t.UndoneAt = &then }, nil},
		"it was never made":       {func(t *Touch) { t.At = nil }, nil},
		"it was another object":   {func(t *Touch) { t.SameObject = false }, nil},
		"the plan is still there": {func(t *Touch) { t.Phase = v1alpha1.PhaseSoaking }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			touch := Touch{Plan: "tags-1", Phase: v1alpha1.PhaseSucceeded, At: &then, SameObject: true}
			tc.change(&touch)
			e := Explanation{Object: web, Plans: []Touch{touch}}
			if diff := cmp.Diff(tc.want, e.choices()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// changed is an event on an object.
func changed(name, uid, controller, message string, later ...time.Duration) *corev1.Event {
	at := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	for _, d := range later {
		at = at.Add(d)
	}
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name},
		InvolvedObject: corev1.ObjectReference{UID: types.UID(uid)}, ReportingController: controller,
		EventTime: metav1.NewMicroTime(at),
		Reason:    v1alpha1.EventRemediated, Message: message}
}

// readerOf reads events by the UID of their objects, as the API server does.
func readerOf(t *testing.T, events ...client.Object) client.Reader {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1alpha1.AddToScheme, corev1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return fake.NewClientBuilder().WithScheme(scheme).WithObjects(events...).
		WithIndex(&corev1.Event{}, "involvedObject.uid", func(o client.Object) []string {
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
			if err != nil {
				t.Error(err)
			}
			uid, _, _ := unstructured.NestedString(content, "involvedObject", "uid")
			return []string{uid}
		}).Build()
}

func TestWhoMayNotReadPoliciesIsToldTheRest(t *testing.T) {
	object, namespace := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName("c")
	object.SetNamespace("shop")
	namespace.SetAnnotations(map[string]string{v1alpha1.AnnotationRemediation: "off"})
	object.SetUID("1")
	reader := readerOf(t, changed("a", "1", recorder, "changed by policy tags"),
		changed("b", "2", recorder, "of another object"), changed("c", "1", "somebody", "of another controller"),
		changed("d", "1", recorder, "of another time", 4*time.Hour))
	e, err := Explain(t.Context(), reader, nil, object, namespace, kube.Tools{},
		time.Date(2027, 1, 7, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	drawn := strings.Join(e.Draw(display.Style{}), "\n")
	for _, want := range []string{
		"could have written too\n  2027-01-07T08:00:00Z  Remediated: changed by policy tags\n",
		"Policies\n  not known", "Next\n  not known", "not opted out: of its namespace, ",
		`must be "paused"`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %q in\n%s", want, drawn)
		}
	}
	if strings.Contains(drawn, "of another") {
		t.Errorf("events that aren't of it, or not of Evenkeel, are told:\n%s", drawn)
	}
	if strings.Contains(drawn, "nothing") {
		t.Errorf("what isn't known is told as nothing:\n%s", drawn)
	}
}

func TestAnOptOutIsToldWithItsEnd(t *testing.T) {
	now := time.Date(2027, 1, 7, 8, 0, 0, 0, time.UTC)
	until := func(end string) *unstructured.Unstructured {
		obj := &unstructured.Unstructured{}
		if end != "" {
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationRemediation: v1alpha1.RemediationPaused,
				v1alpha1.AnnotationPausedUntil: end})
		}
		return obj
	}
	for name, tc := range map[string]struct{ object, namespace, out, doubt string }{
		"to come":        {object: "2027-01-07T09:00:00Z", out: "paused, until 2027-01-07T09:00:00Z"},
		"come":           {object: "2027-01-07T07:00:00Z", doubt: "the opt-out ended at 2027-01-07T07:00:00Z"},
		"unreadable":     {object: "soon", out: "without an end"},
		"of a namespace": {namespace: "2027-01-07T09:00:00Z", out: "its namespace has the annotation"},
		"come, of a namespace": {namespace: "2027-01-07T07:00:00Z",
			doubt: "of its namespace, the opt-out ended at"},
		"come, but not of the namespace": {object: "2027-01-07T07:00:00Z", namespace: "2027-01-07T09:00:00Z",
			out: "its namespace has"},
	} {
		t.Run(name, func(t *testing.T) {
			out := optOut(until(tc.object), until(tc.namespace), now)
			doubt := ineffectiveOptOut(until(tc.object), until(tc.namespace), now)
			if (out == "") != (tc.out == "") || !strings.Contains(out, tc.out) {
				t.Errorf("opted out: %q, want %q", out, tc.out)
			}
			if tc.doubt != "" && !strings.Contains(doubt, tc.doubt) {
				t.Errorf("doubt: %q, want %q", doubt, tc.doubt)
			}
		})
	}
}
