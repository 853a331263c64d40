// SPDX-License-Identifier: Apache-2.0

package source

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestConclude(t *testing.T) {
	now := time.Date(2027, 3, 1, 12, 0, 0, 0, time.UTC)
	const old, newest = "main@sha1:1", "main@sha1:2"
	type result struct {
		Ready                          metav1.ConditionStatus
		Reason, Revision, Attempted    string
		Reconciling, Stalled           bool
		Failures, Problems, OfProblems int
		Wait                           time.Duration
	}
	many := make([]v1alpha1.SourceProblem, 30)
	for i := range many {
		many[i] = problemAt("a.rego", i+1, "wrong")
	}
	tests := map[string]struct {
		reason string
		change func(*v1alpha1.PolicySource)
		seen   observation
		failed *failure
		want   result
	}{
		"a new revision in force": {reason: "it is ready, and looked at again at the interval",
			seen: observation{asked: true, fetched: true, revision: newest, complete: true, inventory: []string{"a"}},
			want: result{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonApplied, Revision: newest,
				Attempted: newest, Wait: time.Hour}},
		"a revision with wrong files": {reason: "the old one stays, and only some problems are listed",
			seen:   observation{asked: true, fetched: true, revision: newest},
			failed: withProblems(v1alpha1.ReasonNotCompiling, many),
			want: result{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotCompiling, Revision: old,
				Attempted: newest,
				Stalled:   true, Problems: v1alpha1.MaxSourceProblems, OfProblems: 30, Wait: time.Hour}},
		"a repository that doesn't answer": {reason: "it is tried again soon",
			seen: observation{asked: true}, failed: transient(v1alpha1.ReasonFetchFailed, "no route"),
			want: result{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonFetchFailed, Revision: old,
				Attempted:   old,
				Reconciling: true, Failures: 1, Wait: firstRetry}},
		"a repository that still doesn't answer": {reason: "each time it waits twice as long",
			change: func(s *v1alpha1.PolicySource) { s.Status.Failures = 2 },
			seen:   observation{asked: true}, failed: transient(v1alpha1.ReasonFetchFailed, "no route"),
			want: result{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonFetchFailed, Revision: old,
				Attempted:   old,
				Reconciling: true, Failures: 3, Wait: 4 * firstRetry}},
		"drift corrected while a newer revision is broken": {reason: "it doesn't make the source ready",
			change: func(s *v1alpha1.PolicySource) {
				meta.SetStatusCondition(&s.Status.Conditions,
					metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse,
						Reason: v1alpha1.ReasonNotCompiling})
			},
			seen: observation{changed: []ref{{policyKind, "a"}}, inventory: []string{"a"}},
			want: result{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonNotCompiling, Revision: old,
				Attempted: old, Wait: time.Minute}},
		"a suspended source": {reason: "nothing is looked at",
			change: func(s *v1alpha1.PolicySource) { s.Spec.Suspend = true },
			want: result{Ready: metav1.ConditionTrue, Reason: v1alpha1.ReasonSuspended, Revision: old,
				Attempted: old}},
		"a namespace that isn't accepted": {reason: "only a change of the source or the manager helps",
			failed: stalled(v1alpha1.ReasonNamespaceNotAllowed, "not here"),
			want: result{Ready: metav1.ConditionFalse, Reason: v1alpha1.ReasonNamespaceNotAllowed, Revision: old,
				Attempted: old, Stalled: true}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			src := &v1alpha1.PolicySource{
				ObjectMeta: metav1.ObjectMeta{Generation: 4},
				Spec:       v1alpha1.PolicySourceSpec{Interval: metav1.Duration{Duration: time.Hour}},
				Status: v1alpha1.PolicySourceStatus{
					Revision: old, AttemptedRevision: old, NextAttemptTime: timeAt(now.Add(time.Minute))}}
			meta.SetStatusCondition(&src.Status.Conditions,
				metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
					Reason: v1alpha1.ReasonApplied})
			if tc.change != nil {
				tc.change(src)
			}
			wait := conclude(src, tc.seen, tc.failed, now)
			ready := meta.FindStatusCondition(src.Status.Conditions, v1alpha1.ConditionReady)
			got := result{Ready: ready.Status, Reason: ready.Reason, Revision: src.Status.Revision,
				Attempted:   src.Status.AttemptedRevision,
				Reconciling: meta.IsStatusConditionTrue(src.Status.Conditions, v1alpha1.ConditionReconciling),
				Stalled:     meta.IsStatusConditionTrue(src.Status.Conditions, v1alpha1.ConditionStalled),
				Failures:    int(src.Status.Failures), Problems: len(src.Status.Problems),
				OfProblems: int(src.Status.ProblemCount), Wait: wait}
			if tc.want.Wait == time.Hour {
				tc.want.Wait = jittered(time.Hour, src.UID).Truncate(time.Second) // as the API stores it
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if src.Status.ObservedGeneration != src.Generation {
				t.Error("the generation isn't noted")
			}
			if ready.Status == metav1.ConditionFalse && tc.failed != nil &&
				!strings.Contains(ready.Message, "Revision "+old+" stays in force") {
				t.Errorf("the message doesn't say what is in force: %q", ready.Message)
			}
		})
	}
}
