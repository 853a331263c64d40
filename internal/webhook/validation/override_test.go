// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestAnOverrideNeedsANameAReasonAndANearEnd(t *testing.T) {
	type tree = map[string]any
	in := func(d time.Duration) string { return webhooktest.Now().Add(d).Format(time.RFC3339) }
	asked := func(action, reason string) []any {
		entry := tree{"action": action, "user": "ann", "requestTime": in(0)}
		if reason != "" {
			entry["reason"] = reason
		}
		return []any{entry}
	}
	spec := func(end string, requests []any, more ...any) tree {
		s := tree{"policyUID": "1", "admissionAction": "Warn", "expirationTime": end, "requests": requests}
		for i := 0; i < len(more); i += 2 {
			s[more[i].(string)] = more[i+1]
		}
		return s
	}
	byAnn := asked("Override", "INC-42")
	cases := map[string]struct {
		before, after   tree
		declared        v1alpha1.AdmissionAction
		refused, warned string
	}{
		"in order":                {after: spec(in(time.Hour), byAnn)},
		"for seven days":          {after: spec(in(v1alpha1.MaxOverride), byAnn)},
		"for a time that is over": {after: spec(in(0), byAnn), refused: "it has passed"},
		"without a reason":        {after: spec(in(time.Hour), asked("Override", "")), refused: "spec.reason"},
		"in nobody's name":        {after: spec(in(time.Hour), nil), refused: "doesn't hold who makes this request"},
		"labelled after its end":  {before: spec(in(-time.Hour), byAnn), after: spec(in(-time.Hour), byAnn)},
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
				Object: tree{"metadata": tree{"name": "p"}, "spec": tc.after}}
			if tc.before != nil {
				r.Operation, r.OldObject = policy.Update, tree{"metadata": tree{"name": "p"}, "spec": tc.before}
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
