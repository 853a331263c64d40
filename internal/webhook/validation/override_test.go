// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/recorded"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestAnOverrideNeedsANameAReasonAndANearEnd(t *testing.T) {
	in := func(d time.Duration) string { return webhooktest.Now().Add(d).Format(time.RFC3339) }
	asked := func(action v1alpha1.RequestAction, reason string) v1alpha1.RequestRecord {
		return v1alpha1.RequestRecord{User: "ann", Action: action, RequestTime: metav1.NewTime(webhooktest.Now()),
			Reason: reason}
	}
	// object is an override with a reason, and what is recorded of it.
	object := func(end, reason string, requests []v1alpha1.RequestRecord, more ...any) tree {
		s := tree{"policyUID": "1", "admissionAction": "Warn", "expirationTime": end, "reason": reason}
		for i := 0; i < len(more); i += 2 {
			s[more[i].(string)] = more[i+1]
		}
		return tree{"spec": s, "metadata": tree{"name": "p", "annotations": tree{
			v1alpha1.AnnotationRequests: recorded.Lines(requests...)}}}
	}
	spec := func(end string, requests []v1alpha1.RequestRecord, more ...any) tree {
		return object(end, "INC-42", requests, more...)
	}
	byAnn := []v1alpha1.RequestRecord{asked(v1alpha1.ActionOverride, "INC-42")}
	cases := map[string]struct {
		before, after   tree
		declared        v1alpha1.AdmissionAction
		refused, warned string
	}{
		"in order":                {after: spec(in(time.Hour), byAnn)},
		"for seven days":          {after: spec(in(v1alpha1.MaxOverride), byAnn)},
		"for a time that is over": {after: spec(in(0), byAnn), refused: "it has passed"},
		"without a reason": {after: object(in(time.Hour), "",
			[]v1alpha1.RequestRecord{asked(v1alpha1.ActionOverride, "")}), refused: "spec.reason"},
		"in nobody's name":       {after: spec(in(time.Hour), nil), refused: "doesn't hold who makes this request"},
		"applied once more":      {before: spec(in(time.Hour), byAnn), after: spec(in(time.Hour), byAnn)},
		"labelled after its end": {before: spec(in(-time.Hour), byAnn), after: spec(in(-time.Hour), byAnn)},
		"of a policy that is softer": {after: spec(in(time.Hour), byAnn), declared: v1alpha1.AdmissionAudit,
			warned: "admission goes on as before"},
		"of an earlier policy": {after: spec(in(time.Hour), byAnn, "policyUID", "0"),
			warned: "spec.policyUID isn't that of policy p"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &OverrideHandler{Policy: func(string) *v1alpha1.ClusterRegoPolicy {
				p := webhooktest.NewPolicy("p", webhooktest.PrivilegedRego)
				p.UID = "1"
				if tc.declared != "" {
					p.Spec.Admission.Action = tc.declared
				}
				return p
			}}
			r := &policy.Request{Operation: policy.Create, Resource: "policyoverrides", Name: "p",
				UserInfo: policy.UserInfo{Username: "ann"}, Now: webhooktest.Now(),
				Object: tc.after}
			if tc.before != nil {
				r.Operation, r.OldObject = policy.Update, tc.before
			}
			resp := h.answer(t.Context(), r)
			if resp.Allowed != (tc.refused == "") {
				t.Fatalf("allowed %t: %+v", resp.Allowed, resp.Status)
			}
			if !resp.Allowed && !strings.Contains(resp.Status.Message, tc.refused) {
				t.Errorf("refused with %q, want %q", resp.Status.Message, tc.refused)
			}
			got := strings.Join(resp.Warnings, "")
			if (got != "") != (tc.warned != "") || !strings.Contains(got, tc.warned) {
				t.Errorf("warned of %q, want %q", got, tc.warned)
			}
		})
	}
}
