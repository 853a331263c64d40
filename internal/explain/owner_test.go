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
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// Whoever owns an object learns how to opt out, always, and how to undo a change that stands, also once the object is
// clean; of a change that stands no more, nothing is left to undo.
func TestItIsAlwaysSaidHowToOptOutAndOfAChangeThatStandsHowToUndoIt(t *testing.T) {
	then := time.Date(2027, 3, 1, 0, 0, 0, 0, time.UTC)
	web := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	const undo = "to undo all that plan tags-1 changed: evenkeel rollout undo tags-1"
	const optOut = "to keep remediation off this object from now on: kubectl annotate deployment.v1.apps web " +
		"evenkeel.dev/remediation=paused -n shop"
	for name, tc := range map[string]struct {
		change func(*Explanation, *Touch)
		want   []string
	}{
		"it stands":             {func(*Explanation, *Touch) {}, []string{undo, optOut}},
		"it was undone":         {func(_ *Explanation, t *Touch) { t.UndoneAt = &then }, []string{optOut}},
		"it was never made":     {func(_ *Explanation, t *Touch) { t.At = nil }, []string{optOut}},
		"it was another object": {func(_ *Explanation, t *Touch) { t.SameObject = false }, []string{optOut}},
		"the plan is still there": {
			func(_ *Explanation, t *Touch) { t.Phase = v1alpha1.PhaseSoaking }, []string{optOut}},
		"no plan has touched it": {func(e *Explanation, _ *Touch) { e.Plans = nil }, []string{optOut}},
		"it has opted out":       {func(e *Explanation, _ *Touch) { e.OptOut = "the object has it" }, []string{undo}},
		"an opt-out has no effect": {func(e *Explanation, _ *Touch) { e.IneffectiveOptOut = "it ended" },
			[]string{undo, optOut + " evenkeel.dev/remediation-paused-until- --overwrite"}},
		"a controller makes it": {func(e *Explanation, t *Touch) {
			t.At = nil
			e.Owners = []v1alpha1.ObjectReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Namespace: "shop",
				Name: "db"}}
		}, []string{"to keep remediation off StatefulSet db, which makes it, from now on: kubectl annotate " +
			"statefulset.v1.apps db evenkeel.dev/remediation=paused -n shop"}},
	} {
		t.Run(name, func(t *testing.T) {
			e := Explanation{Object: web, Plans: []Touch{{Plan: "tags-1", Phase: v1alpha1.PhaseSucceeded, At: &then,
				SameObject: true}}}
			tc.change(&e, &e.Plans[0])
			if diff := cmp.Diff(tc.want, e.choices()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A plan says why it changed the object in the words of its policy, where that may be read.
func TestAPlanSaysWhyItsPolicyChangesObjects(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: "tags"}}
	p.Spec.Title, p.Spec.Description = "Objects carry a tag.", "Bills are\nsplit by it."
	p.Spec.Rego = v1alpha1.RegoSource{Main: "package p\n\ndeny contains \"x\"\n"}
	p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"Namespace"}}}
	inForce := catalog.New(catalog.Options{})
	if err := inForce.Set(p); err != nil {
		t.Fatal(err)
	}
	e := Explanation{Plans: []Touch{{Plan: "tags-1", Policy: "tags"}, {Plan: "gone-1", Policy: "gone"}}}
	e.because(nil)
	e.because(inForce.Snapshot())
	drawn := strings.Join(e.Draw(display.Style{}), "\n")
	for _, want := range []string{"\n    because: Objects carry a tag\n    why: Bills are split by it."} {
		if !strings.Contains(drawn, want) || strings.Count(drawn, "because: ") != 1 {
			t.Errorf("%q is missing:\n%s", want, drawn)
		}
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
	unread := InForce{Unread: []string{"the policies: forbidden"}}
	e, err := Explain(t.Context(), reader, unread, object, namespace, kube.Tools{},
		time.Date(2027, 1, 7, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	drawn := strings.Join(e.Draw(display.Style{}), "\n")
	for _, want := range []string{
		"could have written too\n  2027-01-07T08:00:00Z  Remediated: changed by policy tags\n",
		"Policies\n  unavailable", "Next\n  unavailable", "not opted out: of its namespace, ",
		`must be "paused"`,
		"Not read\n  the policies: forbidden"} {
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

// Of an object whose Namespace may not be read, what doesn't depend on that is told, and nothing is guessed.
func TestWhatDependsOnANamespaceThatMayNotBeReadIsntKnown(t *testing.T) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName("c")
	object.SetNamespace("shop")
	object.SetUID("1")
	force := catalog.New(catalog.Options{})
	for name, change := range map[string]func(*v1alpha1.ClusterRegoPolicy){
		"free": func(*v1alpha1.ClusterRegoPolicy) {},
		"selecting": func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Match.NamespaceSelector = &v1alpha1.LabelSelector{
				MatchLabels: map[string]v1alpha1.LabelValue{"team": "a"}}
		},
		"reading": func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Rego.Main = "package p\n\ndeny contains \"x\" if input.review.namespaceObject.metadata.labels.team\n"
		},
	} {
		p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		p.Spec.Rego = v1alpha1.RegoSource{Main: "package p\n\ndeny contains \"x\"\n\n" +
			`remediation contains {"action": "patch", "ops": [{"op": "add", "path": "/data", "value": {}}]}`}
		p.Spec.Remediation.Mode = v1alpha1.RemediationAutomatic
		p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{""}, Kinds: []string{"ConfigMap"}}}
		change(p)
		p.SetDefaults()
		if err := force.Set(p); err != nil {
			t.Fatal(err)
		}
	}
	inForce := InForce{Snapshot: force.Snapshot(), Unread: []string{"read namespace shop: forbidden"}}
	now := time.Date(2027, 1, 7, 9, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		namespace *unstructured.Unstructured
		want      []string
	}{
		"it may be read": {&unstructured.Unstructured{Object: map[string]any{}},
			[]string{"Violates  free", "Clean     reading"}},
		"it may not": {nil, []string{"Violates  free", "Unknown   reading", "Unknown   selecting",
			"\n  whether its namespace opts out isn't known: it couldn't be read\n",
			"it depends on the object's Namespace, which couldn't be read",
			"\n  reading: unavailable: its namespace couldn't be read\n",
			"\n  free: unless its namespace opts out, which isn't known: the next plan fixes it\n",
			"Not read\n  read namespace shop: forbidden"}},
	} {
		e, err := Explain(t.Context(), readerOf(t), inForce, object, tc.namespace, kube.Tools{}, now)
		if err != nil {
			t.Fatal(err)
		}
		drawn := strings.Join(e.Draw(display.Style{}), "\n")
		for _, want := range tc.want {
			if !strings.Contains(drawn, want) {
				t.Errorf("%s: no %q in\n%s", name, want, drawn)
			}
		}
		if known := tc.namespace != nil; e.NamespaceUnknown == known || strings.Contains(drawn, "Unknown") == known {
			t.Errorf("%s: namespaceUnknown is %t\n%s", name, e.NamespaceUnknown, drawn)
		}
	}
}

// One policy that can't be asked keeps what the others say from nobody, and counts as no pass.
func TestAPolicyThatCantBeAskedIsLeftOutAndTold(t *testing.T) {
	object := &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName("c")
	object.SetUID("1")
	force := catalog.New(catalog.Options{})
	inForce := InForce{Snapshot: force.Snapshot(), LeftOut: []string{"broken", "orphan"},
		Unread: []string{"left out, for it can't be in force as it is written: policy broken: it doesn't compile"}}
	e, err := Explain(t.Context(), readerOf(t), inForce, object, nil, kube.Tools{},
		time.Date(2027, 1, 7, 9, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	drawn := strings.Join(e.Draw(display.Style{}), "\n")
	for _, want := range []string{"Policies\n  left out, see below: broken, orphan\n",
		"Next\n  nothing by the policies that could be asked; of those left out: kubectl describe rego broken orphan",
		"Not read\n  " + inForce.Unread[0]} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %q in\n%s", want, drawn)
		}
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
