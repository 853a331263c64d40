// SPDX-License-Identifier: Apache-2.0

package review

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// execReview is what the API server asks before it opens a shell.
func execReview() tree {
	options := tree{"apiVersion": "v1", "kind": "PodExecOptions", "stdin": true, "container": "web",
		"command": []any{"sh"}, "metadata": tree{}}
	return webhooktest.Review("CONNECT", options, nil, func(r tree) {
		delete(options, "metadata")
		r["kind"] = tree{"group": "", "version": "v1", "kind": "PodExecOptions"}
		r["resource"] = tree{"group": "", "version": "v1", "resource": "pods"}
		r["subResource"], r["name"] = "exec", "web-0"
	})
}

func TestAShellIsRefusedWithItsOptionsAsInput(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail,
		webhooktest.NewCatalog(
			t, webhooktest.NewPolicy("no-shells", webhooktest.NoShells,
				webhooktest.OfParts("CONNECT", "", "Pod", "exec"))))
	want := serving.Response{
		Status: forbidden(`exec of Pod shop/web-0 is refused by policy no-shells (High): No privileged containers
- /command: ann runs sh
  Runbook: https://runbooks.example.com/no-shells`),
		AuditAnnotations: map[string]string{"no-shells": "Deny: 1, first at /command"},
	}
	got := webhooktest.Ask(t, h, execReview())
	got.UID = ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := webhooktest.Counted(t, h.Metrics, "evenkeel_admission_requests_total", serving.DecisionDenied, "fail",
		"CONNECT"); got != 1 {
		t.Errorf("denied shells counted: %v", got)
	}
}

func TestShellsThatNoPolicyNamesPass(t *testing.T) {
	h := newHandler(t, v1alpha1.FailurePolicyFail,
		webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
	if got := webhooktest.Ask(t, h, execReview()); !got.Allowed {
		t.Errorf("refused: %+v", got.Status)
	}
}
