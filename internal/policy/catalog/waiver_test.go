// SPDX-License-Identifier: Apache-2.0

package catalog_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// now is the time of podRequest.
var now = time.Unix(1_700_000_000, 0)

// waiver waives the policy "a" in namespace "team" until the time given.
func waiver(name string, until time.Time, change ...func(*v1alpha1.Waiver)) *v1alpha1.Waiver {
	e := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, Generation: 1},
		Spec: v1alpha1.WaiverSpec{
			WaiverTerms: v1alpha1.WaiverTerms{Policies: []string{"a"}, Reason: "vendor image",
				ExpirationTime: metav1.NewTime(until)}}}
	for _, c := range change {
		c(e)
	}
	return e
}

func TestAWaiverIsPartOfTheVerdict(t *testing.T) {
	elsewhere := func(e *v1alpha1.Waiver) { e.Namespace = "other" }
	unreadable := func(e *v1alpha1.Waiver) { e.Spec.Match.Names = []string{"a/b"} }
	wide := func(namespaces ...string) v1alpha1.AnyWaiver {
		return &v1alpha1.ClusterWaiver{ObjectMeta: metav1.ObjectMeta{Name: "w", Generation: 1},
			Spec: v1alpha1.ClusterWaiverSpec{
				WaiverTerms: waiver("w", now.Add(time.Hour)).Spec.WaiverTerms,
				Match:       v1alpha1.ClusterWaiverMatch{Namespaces: namespaces}}}
	}
	cases := map[string]struct {
		reason  string
		waivers []v1alpha1.AnyWaiver
		// want is the waiver of policy a's verdict; empty for none.
		want string
	}{
		"without a waiver violations count": {},
		"a waiver of the namespace waives": {waivers: []v1alpha1.AnyWaiver{waiver("w", now.Add(time.Hour))},
			want: "w"},
		"one of another namespace doesn't": {
			waivers: []v1alpha1.AnyWaiver{waiver("w", now.Add(time.Hour), elsewhere)}},
		"a ClusterWaiver does":                  {waivers: []v1alpha1.AnyWaiver{wide()}, want: "w"},
		"a ClusterWaiver of the namespace does": {waivers: []v1alpha1.AnyWaiver{wide("te*")}, want: "w"},
		"a ClusterWaiver of another doesn't":    {waivers: []v1alpha1.AnyWaiver{wide("other")}},
		"a moment before its expiry it waives": {waivers: []v1alpha1.AnyWaiver{waiver("w", now.Add(time.Nanosecond))},
			want: "w"},
		"at its expiry it doesn't any more": {
			reason:  "expirationTime is the first moment at which the violations count",
			waivers: []v1alpha1.AnyWaiver{waiver("w", now)}},
		"of several the one that lasts longest is named": {
			reason: "it says when the violations count again",
			waivers: []v1alpha1.AnyWaiver{waiver("short", now.Add(time.Hour)), waiver("long", now.Add(2*time.Hour)),
				waiver("over", now.Add(-time.Hour))}, want: "long"},
		"one that can't be read waives nothing": {
			waivers: []v1alpha1.AnyWaiver{waiver("w", now.Add(time.Hour), unreadable)}},
		"one that is in no namespace waives nothing": {
			reason: "it isn't a ClusterWaiver",
			waivers: []v1alpha1.AnyWaiver{
				waiver("w", now.Add(time.Hour), func(w *v1alpha1.Waiver) { w.Namespace = "" })}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c := catalog.New(catalog.Options{TimeLimit: time.Minute})
			for _, e := range tc.waivers {
				err := c.SetWaiver(e)
				if known, problem := c.WaiverProblem(e); !known || (problem == nil) != (err == nil) {
					t.Errorf("problem %v, known %t; SetWaiver said %v", problem, known, err)
				}
			}
			// Policies that come later find the waivers.
			for _, name := range []string{"a", "b"} {
				if err := c.Set(saying(name, "bad")); err != nil {
					t.Fatal(err)
				}
			}
			results := c.Snapshot().Evaluate(t.Context(), podRequest())
			got := ""
			if w := results[0].Waived; w != nil {
				got = w.Name
			}
			if got != tc.want || len(results[0].Violations) != 1 ||
				(len(results[0].Enforced()) == 0) != (tc.want != "") {
				t.Errorf("%s: waived by %q, want %q; %d violations, %d enforced", tc.reason, got, tc.want,
					len(results[0].Violations), len(results[0].Enforced()))
			}
			if results[1].Waived != nil {
				t.Error("policy b is waived, though no waiver names it")
			}
			one, _ := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest())
			if (one.Waived == nil) != (tc.want == "") {
				t.Error("EvaluateOne says something else than Evaluate")
			}
		})
	}
}

func TestACleanObjectIsNotWaived(t *testing.T) {
	c := newCatalog(t, withRego(
		"a", "package p\n\nimport rego.v1\n\ndeny contains \"x\" if input.object.metadata.name == \"other\""))
	if err := c.SetWaiver(waiver("w", now.Add(time.Hour))); err != nil {
		t.Fatal(err)
	}
	if got, matched := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest()); !matched || got.Waived != nil {
		t.Errorf("matched %t, waived %v: what violates nothing must not count as waived", matched, got.Waived)
	}
}

func TestWaiversComeAndGo(t *testing.T) {
	c := newCatalog(t, saying("a", "bad"))
	changed := c.Subscribe()
	told := func() bool {
		select {
		case <-changed:
			return true
		default:
			return false
		}
	}
	e := waiver("w", now.Add(time.Hour))
	before := c.Snapshot()
	if err := c.SetWaiver(e); err != nil || !told() {
		t.Fatalf("a new waiver isn't told: %v", err)
	}
	if res, _ := before.EvaluateOne(t.Context(), "a", podRequest()); res.Waived != nil {
		t.Error("a snapshot changed under a request that holds it")
	}
	e.Status.Conditions = []metav1.Condition{{Type: "Ready"}}
	if err := c.SetWaiver(e); err != nil || told() {
		t.Errorf("a change of the status alone is told: %v", err)
	}
	deleted := metav1.NewTime(now)
	e.DeletionTimestamp, e.Finalizers = &deleted, []string{"example.com/keep"}
	if err := c.SetWaiver(e); err != nil || !told() {
		t.Errorf("the deletion of one that a finalizer keeps isn't told: %v", err)
	}
	if res, _ := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest()); res.Waived != nil {
		t.Error("a waiver that is being deleted still waives")
	}
	if known, problem := c.WaiverProblem(e); !known || !errors.Is(problem, catalog.ErrWaiverDeleted) ||
		!strings.Contains(problem.Error(), "example.com/keep") {
		t.Errorf("nobody is told what it waits for: %v", problem)
	}
	c.DeleteWaiver(types.NamespacedName{Namespace: "team", Name: "w"})
	if res, _ := c.Snapshot().EvaluateOne(t.Context(), "a", podRequest()); res.Waived != nil || !told() {
		t.Error("a deleted waiver still waives, or isn't told")
	}
	if known, _ := c.WaiverProblem(e); known {
		t.Error("a deleted waiver is still known")
	}
}

func TestDigestAndNextExpiryFollowTheTime(t *testing.T) {
	c := newCatalog(t, saying("a", "bad"))
	for _, e := range []*v1alpha1.Waiver{waiver("first", now.Add(time.Minute)), waiver("last", now.Add(time.Hour))} {
		if err := c.SetWaiver(e); err != nil {
			t.Fatal(err)
		}
	}
	s := c.Snapshot()
	digests := map[string]bool{}
	for _, step := range []struct {
		at   time.Duration
		next time.Duration // 0 for none
	}{{0, time.Minute}, {time.Minute - 1, time.Minute}, {time.Minute, time.Hour}, {time.Hour - 1, time.Hour},
		{time.Hour, 0}} {
		at := now.Add(step.at)
		next, found := s.NextExpiry(at)
		if found != (step.next != 0) || found && !next.Equal(now.Add(step.next)) {
			t.Errorf("at +%s the next expiry is %s, %t; want +%s", step.at, next, found, step.next)
		}
		digests[s.WaiverDigest("a", at)] = true
	}
	if len(digests) != 3 || !digests[""] || s.WaiverDigest("b", now) != "" {
		t.Errorf("digests are %v, want one for each set of active waivers, and none for another policy", digests)
	}
}
