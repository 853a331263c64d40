// SPDX-License-Identifier: Apache-2.0

package explain

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

func TestWhoMayNotReadPoliciesIsToldTheRest(t *testing.T) {
	object, namespace := &unstructured.Unstructured{}, &unstructured.Unstructured{}
	object.SetAPIVersion("v1")
	object.SetKind("ConfigMap")
	object.SetName("c")
	object.SetNamespace("shop")
	namespace.SetAnnotations(map[string]string{v1alpha1.AnnotationRemediation: "off"})
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	reader := fake.NewClientBuilder().WithScheme(scheme).Build()
	e, err := Explain(t.Context(), reader, nil, object, namespace, kube.Tools{}, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	drawn := strings.Join(e.Draw(display.Style{}), "\n")
	for _, want := range []string{"Policies\n  not known", "Next\n  not known", "not opted out: of its namespace, ",
		`must be "paused"`} {
		if !strings.Contains(drawn, want) {
			t.Errorf("no %q in\n%s", want, drawn)
		}
	}
	if strings.Contains(drawn, "nothing") {
		t.Errorf("what isn't known is told as nothing:\n%s", drawn)
	}
}
