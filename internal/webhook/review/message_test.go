// SPDX-License-Identifier: Apache-2.0

package review

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func manyViolations(n int, text string) []policy.Violation {
	var out []policy.Violation
	for i := range n {
		out = append(out, policy.Violation{Message: text, Path: fmt.Sprintf("/spec/%d", i)})
	}
	return out
}

func TestMessagesAreBounded(t *testing.T) {
	long := strings.Repeat("é", 5000) + "\nsecond line"
	v := &verdict{class: v1alpha1.FailurePolicyFail}
	for i := range 40 {
		for _, action := range []v1alpha1.AdmissionAction{v1alpha1.AdmissionDeny, v1alpha1.AdmissionWarn} {
			v.findings = append(v.findings, finding{
				policy: fmt.Sprintf("p%d", i), title: "t", action: action, violations: manyViolations(7, long),
				actions: []policy.Action{
					{Type: policy.ActionPatch, Ops: []policy.PatchOp{{Op: "add", Path: "/x", Value: long}}}},
			})
		}
	}
	resp, decision := answer(&policy.Request{Name: "web", Operation: policy.Create, Object: tree{}}, v)
	if decision != serving.DecisionDenied {
		t.Fatalf("decision %q", decision)
	}
	if got := strings.Count(resp.Status.Message, "\n- "); got != serving.MaxViolationLines {
		t.Errorf("%d violations are listed, want %d", got, serving.MaxViolationLines)
	}
	if want := "\nand 270 more violations"; !strings.HasSuffix(resp.Status.Message, want) {
		t.Errorf("the message doesn't end with %q", want)
	}
	if n := len(resp.Status.Message); n > 16<<10 {
		t.Errorf("the message has %d bytes", n)
	}
	if len(resp.Warnings) != serving.MaxWarnings+1 ||
		resp.Warnings[serving.MaxWarnings] != "and 270 more warnings of Evenkeel's policies" {
		t.Errorf("%d warnings, the last is %q", len(resp.Warnings), resp.Warnings[len(resp.Warnings)-1])
	}
	for _, w := range resp.Warnings {
		if len(w) > serving.MaxWarningBytes || !utf8.ValidString(w) || strings.ContainsAny(w, "\n\r") {
			t.Errorf("not fit for a header: %q", w)
		}
	}
}

func TestARefusalLeadsToWhereTheRunbooksArePublished(t *testing.T) {
	rule := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)
	rule.Spec.RunbookURL = policy.DefaultDocsURL + "/policies/no-privileged"
	h := newHandler(t, v1alpha1.FailurePolicyFail, webhooktest.NewCatalog(t, rule))
	docs, err := policy.NewDocs("https://wiki.example.com/evenkeel")
	if err != nil {
		t.Fatal(err)
	}
	h.Docs = docs
	got := webhooktest.Ask(t, h, webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil))
	if want := "Runbook: https://wiki.example.com/evenkeel/policies/no-privileged"; got.Status == nil ||
		!strings.Contains(got.Status.Message, want) {
		t.Errorf("got %+v, want a refusal with %q", got.Status, want)
	}
}
