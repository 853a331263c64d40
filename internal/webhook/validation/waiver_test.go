// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"net/http"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestWaiverHandler(t *testing.T) {
	asWaiver := func(r tree) {
		r["kind"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": "Waiver"}
	}
	reviewed := func(e, old *v1alpha1.Waiver) tree {
		t.Helper()
		trees := [2]tree{}
		for i, one := range []*v1alpha1.Waiver{e, old} {
			if one == nil {
				continue
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(one)
			if err != nil {
				t.Fatal(err)
			}
			trees[i] = object
		}
		operation := "CREATE"
		if old != nil {
			operation = "UPDATE"
		}
		return webhooktest.Review(operation, trees[0], trees[1], asWaiver)
	}
	hour, passed := webhooktest.Now().Add(time.Hour), webhooktest.Now().Add(-time.Hour)
	wide := func(namespaces ...string) tree {
		object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&v1alpha1.ClusterWaiver{
			ObjectMeta: metav1.ObjectMeta{Name: "legacy"}, Spec: v1alpha1.ClusterWaiverSpec{
				WaiverTerms: webhooktest.NewWaiver(hour).Spec.WaiverTerms,
				Match:       v1alpha1.ClusterWaiverMatch{Namespaces: namespaces}}})
		if err != nil {
			t.Fatal(err)
		}
		return webhooktest.Review("CREATE", object, nil, asWaiver, func(r tree) {
			r["kind"] = tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": "ClusterWaiver"}
			delete(r, "namespace")
		})
	}
	names := func(globs ...string) func(*v1alpha1.Waiver) {
		return func(e *v1alpha1.Waiver) { e.Spec.Match.Names = globs }
	}
	labelled := func(e *v1alpha1.Waiver) { e.Labels = map[string]string{"a": "b"} }
	reason := func(e *v1alpha1.Waiver) { e.Spec.Reason = "told better" }
	misspelt := func(e *v1alpha1.Waiver) { e.Spec.Policies = append(e.Spec.Policies, "no-privilege") }
	selecting := func(e *v1alpha1.Waiver) {
		e.Spec.Match.ObjectSelector = &v1alpha1.LabelSelector{
			MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}
	}
	cases := map[string]struct {
		reason  string
		review  tree
		refused []string // what the lines of problems hold; none when it is accepted
		warned  []string
	}{
		"a good waiver is accepted": {review: reviewed(webhooktest.NewWaiver(hour), nil)},
		"an expiry that has passed is refused": {
			review:  reviewed(webhooktest.NewWaiver(passed), nil),
			refused: []string{"spec.expirationTime: 2026-03-01T11:00:00Z: it has passed; set a time to come"}},
		"an expiry of this very moment is refused": {review: reviewed(webhooktest.NewWaiver(webhooktest.Now()), nil),
			refused: []string{"spec.expirationTime: "}},
		"an expired waiver's other fields can be changed": {
			review: reviewed(webhooktest.NewWaiver(passed, reason), webhooktest.NewWaiver(passed))},
		"an expired waiver can be labelled": {
			reason: "whatever else is wrong with it",
			review: reviewed(webhooktest.NewWaiver(passed, names("a/b"), labelled),
				webhooktest.NewWaiver(passed, names("a/b")))},
		"an expiry can't be moved into the past": {
			review:  reviewed(webhooktest.NewWaiver(passed), webhooktest.NewWaiver(hour)),
			refused: []string{"or delete the waiver to end it"}},
		"an expired waiver can be renewed": {
			review: reviewed(webhooktest.NewWaiver(hour), webhooktest.NewWaiver(passed))},
		"more than a year ahead is warned of": {
			review: reviewed(webhooktest.NewWaiver(webhooktest.Now().AddDate(1, 0, 2)), nil),
			warned: []string{"spec.expirationTime is more than a year ahead"}},
		"a year ahead isn't": {review: reviewed(webhooktest.NewWaiver(webhooktest.Now().AddDate(1, 0, 0)), nil)},
		"an unknown policy is warned of": {
			reason: "it may come later", review: reviewed(webhooktest.NewWaiver(hour, misspelt), nil),
			warned: []string{`spec.policies[1]: there is no policy "no-privilege"`}},
		"a bad glob and a bad expiry are told at once, by field": {
			review:  reviewed(webhooktest.NewWaiver(passed, names("web/1")), nil),
			refused: []string{`spec.match.names: "web/1" can't match`, "spec.expirationTime: "}},
		"a bad selector is told by its field": {
			review:  reviewed(webhooktest.NewWaiver(hour, selecting), nil),
			refused: []string{"spec.match.objectSelector: "}},
		"a ClusterWaiver of some namespaces is accepted": {review: wide("bank", "shop-*")},
		"a ClusterWaiver with a bad glob is refused": {
			review: wide("Shop"), refused: []string{`spec.match.namespaces: "Shop" can't match`}},
		"another form is refused": {
			review:  webhooktest.Review("CREATE", tree{"metadata": tree{"name": "e"}, "spec": "x"}, nil, asWaiver),
			refused: []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &WaiverHandler{Base: webhooktest.Base(t, webhooktest.Now()), Known: func(name string) bool {
				return name == "no-privileged"
			}}
			got := webhooktest.Ask(t, h, tc.review)
			if got.Allowed != (tc.refused == nil) || len(got.Warnings) != len(tc.warned) {
				t.Fatalf("%s: allowed is %t, warnings %q: %v", tc.reason, got.Allowed, got.Warnings, got.Status)
			}
			for i, want := range tc.warned {
				if !strings.Contains(got.Warnings[i], want) {
					t.Errorf("warning %q, want %q", got.Warnings[i], want)
				}
			}
			if len(tc.refused) == 0 {
				return
			}
			lines := strings.Split(got.Status.Message, "\n")[1:]
			if got.Status.Code != http.StatusUnprocessableEntity || len(lines) != len(tc.refused) {
				t.Fatalf("status %d: %s", got.Status.Code, got.Status.Message)
			}
			for i, want := range tc.refused {
				if !strings.Contains(lines[i], want) {
					t.Errorf("line %q, want %q", lines[i], want)
				}
			}
		})
	}
}
