// SPDX-License-Identifier: Apache-2.0

package display_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/display"
)

func TestASourceShowsWhatKeepsItsNewestRevisionOut(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	at := func(ago time.Duration) *metav1.Time { return &metav1.Time{Time: now.Add(-ago)} }
	src := &v1alpha1.PolicySource{
		ObjectMeta: metav1.ObjectMeta{Namespace: "evenkeel-system", Name: "platform", Generation: 2,
			CreationTimestamp: *at(48 * time.Hour)},
		Spec: v1alpha1.PolicySourceSpec{
			URL: "https://git.example.com/p.git", Ref: &v1alpha1.SourceReference{Semver: "1.x"}, Path: "policies"},
		Status: v1alpha1.PolicySourceStatus{ObservedGeneration: 2, Revision: "v1.2.0@sha1:0123456789abcdef",
			AttemptedRevision: "v1.3.0@sha1:ff", Policies: 12,
			LastAppliedTime: at(3 * time.Hour), LastFetchedTime: at(time.Minute), NextAttemptTime: at(-4 * time.Minute),
			ProblemCount: 3,
			Problems: []v1alpha1.SourceProblem{
				{File: "policies/a/a.rego", Line: 12, Message: "unknown key\n\"colour\""},
				{File: "spec.overrides[0]", Message: "nobody"}},
			Conditions: []metav1.Condition{
				{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotCompiling,
					Message: "policies/a/a.rego:12: unknown key"}}},
	}
	want := `PolicySource evenkeel-system/platform
  Repository  https://git.example.com/p.git, the highest tag within 1.x, directory policies
  Ready       False (NotCompiling): policies/a/a.rego:12: unknown key
  In force    v1.2.0@sha1:0123456789abcdef, 12 policies, applied 3h ago
  Answered    60s ago; asked again in 4m
  Newest      v1.3.0@sha1:ff
  Problems    3
    policies/a/a.rego:12: unknown key "colour"
    spec.overrides[0]: nobody
    and 1 more`
	shown := display.Source{PolicySource: src, Now: now}
	if diff := cmp.Diff(want, strings.Join(shown.Lines(), "\n")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	row := []string{"platform", "False", "v1.2.0@sha1:0123456789ab", "12", "2d", "policies/a/a.rego:12: unknown key"}
	if diff := cmp.Diff(row, shown.Row()); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	later := display.Source{PolicySource: src, Now: now.Add(4*time.Minute + 5*time.Minute)}
	if ready, _, message := later.Ready(); ready != metav1.ConditionUnknown ||
		!strings.Contains(message, "was to ask the repository again 5m ago, and hasn't: is it running?") {
		t.Errorf("a manager that has stopped counts: %s: %s", ready, message)
	}
	if text := strings.Join(later.Lines(), "\n"); !strings.Contains(text, "was to be asked again 5m ago") {
		t.Errorf("it isn't told that nobody asks any more:\n%s", text)
	}
	src.Spec.Suspend = true
	if ready, _, _ := later.Ready(); ready != metav1.ConditionFalse {
		t.Errorf("a suspended source is asked nothing, and is %s", ready)
	}
	src.Generation++
	if ready, _, message := shown.Ready(); ready != metav1.ConditionUnknown ||
		!strings.Contains(message, "spec has changed") {
		t.Errorf("a status of an older spec counts: %s: %s", ready, message)
	}
}
