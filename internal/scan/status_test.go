// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/rego/inventory"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

func TestConditions(t *testing.T) {
	type cond struct{ Type, Status, Reason, Message string }
	broken := errors.New("owner.rego:7:3: rego_parse_error: unexpected token")
	summary := func(state v1alpha1.ScanState, counts index.Counts) *index.Summary {
		return &index.Summary{Revision: "r1", State: state, Counts: counts}
	}
	cases := map[string]struct {
		reason  string
		catalog catalog.Status
		summary *index.Summary
		want    []cond
	}{
		"a scanned policy is ready": {
			reason:  "kstatus: Current",
			catalog: catalog.Status{Revision: "r1"},
			summary: summary(v1alpha1.ScanComplete, index.Counts{Scanned: 40, Violating: 30}),
			want:    []cond{{"Ready", "True", "Compiled", "revision r1 is in force; 30 of 40 objects violate it"}},
		},
		"a policy that is being scanned is reconciling": {
			reason:  "kstatus: InProgress",
			catalog: catalog.Status{Revision: "r1"},
			summary: summary(v1alpha1.ScanPending, index.Counts{}),
			want: []cond{
				{"Ready", "Unknown", "Scanning",
					"revision r1 is in force for admission; the first pass over what exists isn't finished"},
				{"Reconciling", "True", "Scanning",
					"revision r1 is in force for admission; the first pass over what exists isn't finished"},
			},
		},
		"a policy that the scan doesn't know yet is reconciling": {
			reason:  "the scan is a moment behind the catalog",
			catalog: catalog.Status{Revision: "r1"},
			want: []cond{
				{"Ready", "Unknown", "Scanning",
					"revision r1 is in force for admission; the first pass over what exists isn't finished"},
				{"Reconciling", "True", "Scanning",
					"revision r1 is in force for admission; the first pass over what exists isn't finished"},
			},
		},
		"a policy with a kind that can't be listed isn't ready and says why": {
			reason:  "the message is what the person on call reads first",
			catalog: catalog.Status{Revision: "r1"},
			summary: &index.Summary{Revision: "r1", State: v1alpha1.ScanIncomplete,
				Incomplete: []v1alpha1.IncompleteKind{{Kind: "Widget", Message: "Widget isn't served"}}},
			want: []cond{
				{"Ready", "False", "ScanIncomplete", "the figures are a lower bound; Widget isn't served"},
				{"Reconciling", "True", "ScanIncomplete", "the figures are a lower bound; Widget isn't served"},
			},
		},
		"a policy that stopped compiling is stalled on its last good revision": {
			reason:  "kstatus: Failed, with file and line",
			catalog: catalog.Status{Revision: "r1", Generation: 1, Err: broken},
			summary: summary(v1alpha1.ScanComplete, index.Counts{}),
			want: []cond{
				{"Ready", "False", "CompileFailed",
					broken.Error() + "; the last good revision r1 stays in force: correct spec.rego"},
				{"Stalled", "True", "CompileFailed",
					broken.Error() + "; the last good revision r1 stays in force: correct spec.rego"},
			},
		},
		"a policy that never compiled says that failurePolicy decides": {
			reason:  "there is no revision to fall back on",
			catalog: catalog.Status{Err: broken},
			want: []cond{
				{"Ready", "False", "CompileFailed", broken.Error() + "; no revision was ever good, so failurePolicy " +
					"decides on what the policy matches: correct spec.rego"},
				{"Stalled", "True", "CompileFailed", broken.Error() + "; no revision was ever good, so failurePolicy " +
					"decides on what the policy matches: correct spec.rego"},
			},
		},
		"waived objects are told apart": {
			reason:  "a waiver must not look like compliance",
			catalog: catalog.Status{Revision: "r1"},
			summary: summary(v1alpha1.ScanComplete, index.Counts{Scanned: 40, Violating: 1, Waived: 2}),
			want: []cond{{"Ready", "True", "Compiled",
				"revision r1 is in force; 1 of 40 objects violates it; 2 more are waived"}},
		},
		"objects that can't be judged are named": {
			reason:  "an evaluation error is never silent",
			catalog: catalog.Status{Revision: "r1"},
			summary: &index.Summary{Revision: "r1", State: v1alpha1.ScanComplete,
				Counts:     index.Counts{Scanned: 3, Errors: 1},
				FirstError: "Pod a/b: time limit"},
			want: []cond{{"Ready", "True", "Compiled",
				"revision r1 is in force; 0 of 3 objects violate it; 1 couldn't be judged, the first is Pod a/b: " +
					"time limit"}},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 3}}
			// What held before must go away when it holds no more.
			p.Status.Conditions = []metav1.Condition{
				{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: "Old"},
				{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: "Old"},
			}
			applyStatus(p, tc.catalog, tc.summary, metav1.NewTime(epoch))
			var got []cond
			for _, c := range p.Status.Conditions {
				got = append(got, cond{c.Type, string(c.Status), c.Reason, c.Message})
				if c.ObservedGeneration != 3 {
					t.Errorf("%s speaks of generation %d, want 3", c.Type, c.ObservedGeneration)
				}
			}
			sort := cmpopts.SortSlices(func(a, b cond) bool { return a.Type < b.Type })
			if diff := cmp.Diff(tc.want, got, sort); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestStatusIsStableAndKeepsWhatOthersOwn(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	p.Status.Remediation = &v1alpha1.RemediationPointer{Name: "plan-1"}
	s := &index.Summary{Revision: "r1", State: v1alpha1.ScanComplete, LastFullScan: epoch.Add(12345),
		Counts: index.Counts{Scanned: 2, Violating: 1, Violations: 1},
		Sample: []policy.Finding{violating("a")}}
	applyStatus(p, catalog.Status{Revision: "r1"}, s, metav1.NewTime(epoch))
	first := p.DeepCopy()
	applyStatus(p, catalog.Status{Revision: "r1"}, s, metav1.NewTime(epoch.Add(eventWindow)))
	if diff := cmp.Diff(first.Status, p.Status); diff != "" {
		t.Errorf("nothing changed, but the status did (-first +second):\n%s", diff)
	}
	if p.Status.Remediation == nil || p.Status.Remediation.Name != "plan-1" {
		t.Errorf("status.remediation belongs to the rollout, but is %v now", p.Status.Remediation)
	}
	want := v1alpha1.ViolationSample{Message: "bad", Violations: 1,
		Object: v1alpha1.ObjectReference{APIVersion: "v1", Kind: "ConfigMap", Namespace: "ns", Name: "a", UID: "uid-a"}}
	if diff := cmp.Diff([]v1alpha1.ViolationSample{want}, p.Status.Scan.Sample); diff != "" {
		t.Errorf("sample (-want +got):\n%s", diff)
	}
}

func TestARestartChangesNoCondition(t *testing.T) {
	good, scanned := catalog.Status{Revision: "r1"}, &index.Summary{Revision: "r1", State: v1alpha1.ScanComplete}
	incomplete := &index.Summary{Revision: "r1", State: v1alpha1.ScanIncomplete}
	cases := map[string]struct {
		reason string
		before *index.Summary
		after  catalog.Status
		change func(*v1alpha1.ClusterRegoPolicy)
		want   string
	}{
		"what was scanned stays ready": {reason: "a new manager knows no better yet", before: scanned,
			after: good, want: "Compiled"},
		"what couldn't be listed stays so": {reason: "the alert goes on", before: incomplete, after: good,
			want: "ScanIncomplete"},
		"what can't be evaluated stays so": {reason: "what it references may still be unknown", before: scanned,
			change: func(p *v1alpha1.ClusterRegoPolicy) {
				kube.SetConditions(p, epoch, kube.Underway(v1alpha1.ReasonReferencesUnknown, "too large")...)
			}, after: good, want: "ReferencesUnknown"},
		"a new spec is to be scanned": {
			before: scanned, after: good, change: func(p *v1alpha1.ClusterRegoPolicy) { p.Generation++ },
			want: "Scanning"},
		"a new revision is to be scanned": {reason: "a library has changed, say", before: scanned,
			after: catalog.Status{Revision: "r2"}, want: "Scanning"},
		"what never was scanned is to be scanned": {after: good, want: "Scanning"},
		"a rule that compiles no more says so at once": {
			before: scanned, after: catalog.Status{Revision: "r1", Err: errors.New("a.rego:1: bad")},
			want: "CompileFailed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
			applyStatus(p, good, tc.before, metav1.NewTime(epoch))
			if tc.change != nil {
				tc.change(p)
			}
			applyStatus(p, tc.after, nil, metav1.NewTime(epoch.Add(eventWindow)))
			ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
			if ready.Reason != tc.want || ready.ObservedGeneration != p.Generation {
				t.Errorf("%s: Ready says %s of generation %d, want %s", tc.reason, ready.Reason,
					ready.ObservedGeneration, tc.want)
			}
		})
	}
}

// TestAPolicySaysWhatItWaitsFor has an edit wait for a list.
func TestAPolicySaysWhatItWaitsFor(t *testing.T) {
	p := &v1alpha1.ClusterRegoPolicy{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
	status := catalog.Status{Revision: "r1", Generation: 1, Ahead: &catalog.Ahead{Generation: 2,
		Awaits: []inventory.Unknown{{Reference: inventory.Reference{Kind: "Node"}}}}}
	complete := &index.Summary{Revision: "r1", State: v1alpha1.ScanComplete, Counts: index.Counts{Scanned: 3}}
	applyStatus(p, status, complete, metav1.Now())
	ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Status != metav1.ConditionUnknown || ready.Reason != v1alpha1.ReasonScanning ||
		!strings.Contains(ready.Message, "revision r1 stays in force") || !strings.Contains(ready.Message, "Node") {
		t.Errorf("while it waits it says %+v", ready)
	}
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReconciling) || p.Status.Revision != "r1" {
		t.Errorf("clients take it for done: %+v", p.Status)
	}
	status.Revision, status.Generation, status.Ahead = "r2", 2, nil
	applyStatus(p, status, &index.Summary{Revision: "r2", State: v1alpha1.ScanComplete}, metav1.Now())
	if !meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady) {
		t.Errorf("it is in force, and says %+v", p.Status.Conditions)
	}
}
