// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// subjects are the plans and policies that answers are judged by.
type subjects struct {
	client.Reader // nil: only Get is called

	objects []client.Object
	down    error
}

func (s subjects) Get(_ context.Context, key client.ObjectKey, obj client.Object, _ ...client.GetOption) error {
	if s.down != nil {
		return s.down
	}
	for _, known := range s.objects {
		if known.GetName() != key.Name {
			continue
		}
		switch known := known.(type) {
		case *v1alpha1.Remediation:
			if into, is := obj.(*v1alpha1.Remediation); is {
				known.DeepCopyInto(into)
				return nil
			}
		case *v1alpha1.ClusterRegoPolicy:
			if into, is := obj.(*v1alpha1.ClusterRegoPolicy); is {
				known.DeepCopyInto(into)
				return nil
			}
		}
	}
	return apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource("subjects").GroupResource(), key.Name)
}

func TestApprovalHandler(t *testing.T) {
	const plan, uid = "p-1", "plan"
	approval := func(uid string, decision v1alpha1.ApprovalDecision) *v1alpha1.RemediationApproval {
		return &v1alpha1.RemediationApproval{ObjectMeta: metav1.ObjectMeta{Name: "yes"},
			Spec: v1alpha1.RemediationApprovalSpec{RemediationRef: v1alpha1.BoundReference{Name: plan, UID: uid},
				Policy: "p", Decision: decision, Approver: "whoever"}}
	}
	pol := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)
	pol.UID, pol.Annotations = "policy", map[string]string{v1alpha1.AnnotationAuthor: "ann"}
	rem := &v1alpha1.Remediation{ObjectMeta: metav1.ObjectMeta{Name: plan, UID: uid},
		Spec: v1alpha1.RemediationSpec{
			Plan: v1alpha1.RemediationPlan{Policy: v1alpha1.PlannedPolicy{Name: "p", UID: "policy", Author: "ann"},
				Strategy: v1alpha1.RolloutStrategy{Mode: v1alpha1.RemediationManual}}}}
	distinct := rem.DeepCopy()
	distinct.Spec.Plan.Strategy.Approval.RequireDistinctApprover = true
	asApproval := webhooktest.OfKind("RemediationApproval", "remediationapprovals")
	as := func(user string) func(tree) {
		return func(r tree) { r["userInfo"] = tree{"username": user} }
	}
	cases := map[string]struct {
		reason  string
		answer  *v1alpha1.RemediationApproval
		change  []func(tree)
		objects []client.Object
		down    error
		forged  bool
		code    int32 // of the refusal; zero when it is accepted
		says    string
	}{
		"a yes to a plan is accepted": {
			answer: approval(uid, "Approve"), objects: []client.Object{rem, pol}},
		"a dry run is accepted": {
			answer: approval(uid, "Approve"), objects: []client.Object{rem, pol},
			change: []func(tree){webhooktest.DryRun}},
		"a yes to an older plan of the name is refused": {
			answer: approval("older", "Approve"), objects: []client.Object{rem, pol}, code: 422,
			says: `- spec.remediationRef.uid: "older" isn't the UID`},
		"a yes to no plan is refused": {
			answer: approval(uid, "Approve"), objects: []client.Object{pol}, code: 422,
			says: `- spec.remediationRef.name: there is no Remediation "p-1"`},
		"a yes to a plan of a gone policy is refused": {
			answer: approval(uid, "Approve"), objects: []client.Object{rem}, code: 422,
			says: "policy p of Remediation p-1 is gone"},
		"the author's yes is refused where another is required": {
			reason: "whatever name the request gave", answer: approval(uid, "Approve"),
			objects: []client.Object{distinct, pol}, code: 422, says: "- spec.approver: ann has written policy p"},
		"another's yes is accepted where another is required": {
			answer: approval(uid, "Approve"), objects: []client.Object{distinct, pol}, change: []func(tree){as("bob")}},
		"an answer in another's name is refused": {
			reason: "the stamp is missing or was changed", answer: approval(uid, "Approve"),
			objects: []client.Object{rem, pol}, forged: true,
			code: http.StatusForbidden,
			says: "spec.approver of RemediationApproval yes doesn't hold who makes this request"},
		"an answer that can't be checked is refused": {
			answer: approval(uid, "Approve"), objects: []client.Object{rem, pol},
			down: errors.New("connection refused"),
			code: http.StatusInternalServerError, says: "try again: reading Remediation p-1: connection refused"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			reader := subjects{objects: tc.objects, down: tc.down}
			object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(tc.answer)
			if err != nil {
				t.Fatal(err)
			}
			review := webhooktest.Review("CREATE", object, nil, append(tc.change, asApproval)...)
			if !tc.forged {
				review["request"].(tree)["object"] = withWho(t, review)
			}
			h := &ApprovalHandler{Base: webhooktest.Base(t, webhooktest.Now()), Reader: reader}
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
