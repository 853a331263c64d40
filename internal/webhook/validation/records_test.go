// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/recorded"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestWhatPeopleAskIsOnRecord(t *testing.T) {
	holding := func(spec tree, records ...v1alpha1.RequestRecord) tree {
		return tree{"metadata": tree{"name": "p", "annotations": tree{
			v1alpha1.AnnotationRequests: recorded.Lines(records...)}}, "spec": spec}
	}
	by := func(user string, action v1alpha1.RequestAction,
		change ...func(*v1alpha1.RequestRecord)) v1alpha1.RequestRecord {
		r := v1alpha1.RequestRecord{User: user, Action: action, RequestTime: metav1.NewTime(time.Unix(0, 0))}
		for _, c := range change {
			c(&r)
		}
		return r
	}
	until := func(seconds int64) func(*v1alpha1.RequestRecord) {
		return func(r *v1alpha1.RequestRecord) { r.UntilTime = &metav1.Time{Time: time.Unix(seconds, 0)} }
	}
	reset := func(r *v1alpha1.RequestRecord) { r.Token = "1" }
	why := func(r *v1alpha1.RequestRecord) { r.Reason = "it is back" }
	const plan, breaker = "remediations", "remediationbreakers"
	cases := map[string]struct {
		resource string
		object   tree
		want     string
	}{
		"a pause in one's own name": {plan,
			holding(tree{"desiredState": "Paused"}, by("ann", v1alpha1.ActionPause)), ""},
		"a pause until a time to come": {plan,
			holding(tree{"desiredState": "Paused", "pausedUntilTime": "1970-01-01T00:00:01Z"},
				by("ann", v1alpha1.ActionPause, until(1))), ""},
		"a pause until a time that has passed": {plan,
			holding(tree{"desiredState": "Paused", "pausedUntilTime": "1970-01-01T00:00:00Z"},
				by("ann", v1alpha1.ActionPause, until(0))), "1970-01-01T00:00:00Z, has passed"},
		"a hold until a time that has passed": {breaker,
			holding(tree{"mode": "ForcedOpen", "forcedOpenUntilTime": "1969-12-31T00:00:00Z"},
				by("ann", v1alpha1.ActionForceOpen, until(-86400))), "1969-12-31T00:00:00Z, has passed"},
		"an end of a pause that is recorded otherwise": {plan,
			holding(tree{"desiredState": "Paused", "pausedUntilTime": "1970-01-01T00:00:09Z"},
				by("ann", v1alpha1.ActionPause, until(1))), "doesn't hold who makes this request"},
		"a pause in nobody's": {plan, holding(tree{"desiredState": "Paused"}), "doesn't hold who makes this request"},
		"an undo in another's name": {plan,
			holding(tree{"desiredState": "Undone"}, by("bob", v1alpha1.ActionUndo)),
			"doesn't hold who makes this request"},
		"an answer in another's name": {plan,
			holding(tree{"approval": tree{"decision": "Approve"}}, by("bob", v1alpha1.ActionApprove)),
			"doesn't hold who makes this request"},
		"a reset without a reason": {breaker,
			holding(tree{"resetToken": "1"}, by("ann", v1alpha1.ActionReset, reset)), "needs a reason"},
		"a reset with one": {breaker, holding(tree{"resetToken": "1", "reason": "it is back"},
			by("ann", v1alpha1.ActionReset, reset, why)), ""},
		"a reset in another's name": {breaker, holding(tree{"resetToken": "1", "reason": "it is back"},
			by("bob", v1alpha1.ActionReset, reset, why)), "doesn't hold who makes this request"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := &policy.Request{Operation: policy.Update, Resource: c.resource, Now: time.Unix(0, 0),
				UserInfo: policy.UserInfo{Username: "ann"}, OldObject: tree{"spec": tree{}}, Object: c.object}
			if got := notTheirRequest(r); c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// subjects are the policies that answers are judged by.
type subjects struct {
	client.Reader // nil: only Get is called

	policy *v1alpha1.ClusterRegoPolicy
	down   error
}

func (s subjects) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	into, is := obj.(*v1alpha1.ClusterRegoPolicy)
	switch {
	case s.down != nil:
		return s.down
	case s.policy == nil || !is:
		return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("subjects").GroupResource(), key.Name)
	}
	s.policy.DeepCopyInto(into)
	return nil
}

func TestAnAnswerThatCouldntCountIsRefused(t *testing.T) {
	const shown, other = "sha256:shown", "sha256:other"
	type change = func(*v1alpha1.Remediation)
	distinct := func(r *v1alpha1.Remediation) { r.Spec.Plan.Rollout.RequireDistinctApprover = true }
	known := func(r *v1alpha1.Remediation) { r.Status.ProposalDigest = shown }
	to := func(digest string) change {
		return func(r *v1alpha1.Remediation) { r.Spec.Approval.ProposalDigest = digest }
	}
	reject := func(r *v1alpha1.Remediation) { r.Spec.Approval.Decision = v1alpha1.DecisionReject }
	cases := map[string]struct {
		reason string
		user   string // ann, who has written the policy, where it is empty
		change []change
		gone   bool
		down   error
		code   int32 // of the refusal; zero when it is accepted
		says   string
	}{
		"a yes to a plan is accepted": {},
		"a yes to the plan's changes": {change: []change{known, to(shown)}},
		"a yes to others is refused": {change: []change{known, to(other)}, code: 403,
			says: "which is " + shown},
		"a yes to what isn't known yet":    {change: []change{to(shown)}, code: 403, says: "aren't known yet"},
		"a no to others is accepted":       {change: []change{known, to(other), reject}},
		"a yes to a plan of a gone policy": {gone: true, code: 403, says: "its policy p is gone"},
		"the author's yes where another is due": {change: []change{distinct}, code: 403,
			says: "ann has written policy p"},
		"the author's no where another is due": {change: []change{distinct, reject}},
		"another's yes where another is due":   {user: "bob", change: []change{distinct}},
		"a plan that awaits no answer": {change: []change{func(r *v1alpha1.Remediation) {
			r.Spec.Plan.Rollout.Mode = v1alpha1.RemediationAutomatic
		}}, code: 403, says: "it is in mode Automatic and awaits no approval"},
		"an answer that can't be checked": {down: errors.New("connection refused"),
			code: http.StatusInternalServerError, says: "try again: "},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			pol := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)
			pol.UID, pol.Annotations = "policy", map[string]string{v1alpha1.AnnotationAuthor: "ann"}
			if tc.gone {
				pol = nil
			}
			rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: "p-1", UID: "plan"}}
			rem.Spec.Plan.Policy = v1alpha1.PlannedPolicy{Name: "p", UID: "policy", Author: "ann"}
			rem.Spec.Plan.Rollout.Mode = v1alpha1.RemediationManual
			old, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rem.DeepCopy())
			if err != nil {
				t.Fatal(err)
			}
			rem.Spec.Approval = &v1alpha1.PlanApproval{Decision: v1alpha1.DecisionApprove}
			for _, c := range tc.change {
				c(rem)
			}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(rem)
			if err != nil {
				t.Fatal(err)
			}
			review := webhooktest.Review("UPDATE", object, old, webhooktest.OfKind("Remediation", "remediations"))
			if tc.user != "" {
				review["request"].(tree)["userInfo"] = tree{"username": tc.user}
			}
			review["request"].(tree)["object"] = withWho(t, review)
			h := &RecordsHandler{Base: webhooktest.Base(t, time.Unix(0, 0)),
				Reader: subjects{policy: pol, down: tc.down}}
			got := webhooktest.Ask(t, h, review)
			if got.Allowed != (tc.code == 0) {
				t.Fatalf("%s: allowed is %t: %v", tc.reason, got.Allowed, got.Status)
			}
			if tc.code != 0 && (got.Status.Code != tc.code || !strings.Contains(got.Status.Message, tc.says)) {
				t.Errorf("%s: status %d: %s", tc.reason, got.Status.Code, got.Status.Message)
			}
		})
	}
}
