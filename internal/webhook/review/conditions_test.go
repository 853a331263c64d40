// SPDX-License-Identifier: Apache-2.0

package review

import (
	"net/http"
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestMatchConditionsSayWhatAdmissionJudges(t *testing.T) {
	scaled := func(o tree) tree { return webhooktest.Set(o, int64(9), "spec", "replicas") }
	cases := map[string]struct {
		reason     string
		conditions []string
		failure    v1alpha1.FailurePolicy
		before     tree
		after      tree
		code       int32  // of the refusal; 0 when it passes
		message    string // part of the refusal, or of the warning
	}{
		"one that is true has it judged": {conditions: []string{`request.operation == "CREATE"`},
			code: http.StatusForbidden, message: "is privileged"},
		"one that is false has it pass": {
			conditions: []string{`request.userInfo.username == "nobody"`, `true`}},
		"an error is the policy's failure": {conditions: []string{`object.spec.none == 1`},
			code: http.StatusInternalServerError, message: "spec.admission.matchConditions: a: no such key: none"},
		"which may be to ignore it": {conditions: []string{`object.spec.none == 1`},
			failure: v1alpha1.FailurePolicyIgnore, message: "not judged: "},
		"a violation that an update brings is new": {
			conditions: []string{`oldObject == null || object.spec != oldObject.spec`},
			before:     webhooktest.Deployment("web", false), after: webhooktest.Deployment("web", true),
			code: http.StatusForbidden, message: "is privileged"},
		"a violation from before an update is old": {
			reason:     "the condition was asked of the update, and not of what there was",
			conditions: []string{`oldObject == null || object.spec != oldObject.spec`},
			before:     webhooktest.Deployment("web", true), after: scaled(webhooktest.Deployment("web", true)),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			class, operation, after := v1alpha1.FailurePolicyFail, "CREATE", webhooktest.Deployment("web", true)
			if tc.before != nil {
				operation, after = "UPDATE", tc.after
			}
			if tc.failure != "" {
				class = tc.failure
			}
			h := newHandler(t, class,
				webhooktest.NewCatalog(
					t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, webhooktest.WithFailurePolicy(class),
						webhooktest.WithConditions(tc.conditions...))))
			got := webhooktest.Ask(t, h, webhooktest.Review(operation, after, tc.before))
			if got.Allowed != (tc.code == 0) {
				t.Fatalf("%s: allowed is %t: %v", tc.reason, got.Allowed, got.Status)
			}
			if tc.code != 0 && (got.Status.Code != tc.code || !strings.Contains(got.Status.Message, tc.message)) {
				t.Errorf("want %d with %q, got %d: %s", tc.code, tc.message, got.Status.Code, got.Status.Message)
			}
			if warned := strings.Join(got.Warnings, "\n"); tc.code == 0 && !strings.Contains(warned, tc.message) {
				t.Errorf("want a warning with %q, got %q", tc.message, warned)
			}
		})
	}
}
