// SPDX-License-Identifier: Apache-2.0

package review

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// hostPID is a violation that each of the parts below comes with.
const hostPID = `package evenkeel.test.hostpid

deny contains "the pod shares the node's processes" if input.pod.spec.hostPID
`

// TestAKnownViolationRefuses holds that a violation which was found refuses, in
// the class that fails open too, whatever else of the policy fails.
func TestAKnownViolationRefuses(t *testing.T) {
	const known = "\n- the pod shares the node's processes"
	bad := func(size string) tree {
		return webhooktest.Set(webhooktest.Set(webhooktest.Deployment("web", false), true, "spec", "template", "spec",
			"hostPID"), tree{"example.com/size": size}, "metadata", "annotations")
	}
	cases := map[string]struct {
		reason, rest string
		review       tree
		want         []string
	}{
		"warn fails on an annotation": {
			reason: "whoever writes the object chooses its annotations",
			rest:   `warn contains "large" if to_number(input.object.metadata.annotations["example.com/size"]) > 10`,
			review: webhooktest.Review("CREATE", bad("huge"), nil),
			want:   []string{known, "\nBesides, policy p could not be evaluated to its end: rule warn: ", "to_number"},
		},
		"another definition of deny fails": {
			reason: "one rule must not hide another's finding",
			rest:   `deny contains "large" if to_number(input.object.metadata.annotations["example.com/size"]) > 10`,
			review: webhooktest.Review("CREATE", bad("huge"), nil),
			want:   []string{known, "\nBesides, policy p could not be evaluated to its end: rule deny: "},
		},
		"the details are malformed": {
			reason: "the message is all that counts",
			rest:   `deny contains {"msg": "numbered", "details": {1: 2}} if true`,
			review: webhooktest.Review("CREATE", bad("huge"), nil),
			want: []string{known, "\n- numbered",
				"\nBesides, policy p could not be evaluated to its end: rule deny, element ", "details"},
		},
		"remediation fails": {
			reason: "the fix is a hint, no more",
			rest:   `remediation contains {"action": "patch", "ops": to_number(input.object.metadata.annotations["example.com/size"])} if true`,
			review: webhooktest.Review("CREATE", bad("huge"), nil),
			want:   []string{known, "\n  Fix: not known, rule remediation: ", "to_number", "\n  Runbook: "},
		},
		"the object before the update can't be judged": {
			reason: "what isn't known to be old is new",
			rest:   `deny contains "small" if to_number(input.object.metadata.annotations["example.com/size"]) < 10`,
			review: webhooktest.Review("UPDATE", bad("12"), bad("huge")),
			want: []string{known, "\nBesides, policy p could not be evaluated to its end: judging the object as it " +
				"was before the update: "},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			for _, class := range []v1alpha1.FailurePolicy{v1alpha1.FailurePolicyIgnore, v1alpha1.FailurePolicyFail} {
				p := webhooktest.NewPolicy("p", hostPID+"\n"+tc.rest, webhooktest.WithFailurePolicy(class))
				h := newHandler(t, class, webhooktest.NewCatalog(t, p))
				got := webhooktest.Ask(t, h, tc.review)
				if got.Allowed || got.Status.Code != http.StatusForbidden {
					t.Fatalf("%s, %s: %+v", tc.reason, class, got)
				}
				for _, part := range tc.want {
					if !strings.Contains(got.Status.Message, part) {
						t.Errorf("%s, %s: %q lacks %q", tc.reason, class, got.Status.Message, part)
					}
				}
				if n := testutil.ToFloat64(h.Verdicts.errors.WithLabelValues("p")); n != 1 {
					t.Errorf("%s, %s: the error is counted %v times", tc.reason, class, n)
				}
			}
		})
	}
}

// TestAnErrorWithoutAFindingFollowsItsClass holds that what is new for findings
// changes nothing where there is none.
func TestAnErrorWithoutAFindingFollowsItsClass(t *testing.T) {
	clean := webhooktest.Set(webhooktest.Deployment("web", false), tree{"example.com/size": "huge"}, "metadata",
		"annotations")
	rest := "\n" + `warn contains "large" if to_number(input.object.metadata.annotations["example.com/size"]) > 10`
	for class, allowed := range map[v1alpha1.FailurePolicy]bool{
		v1alpha1.FailurePolicyIgnore: true, v1alpha1.FailurePolicyFail: false} {
		h := newHandler(t, class,
			webhooktest.NewCatalog(t, webhooktest.NewPolicy("p", hostPID+rest, webhooktest.WithFailurePolicy(class))))
		got := webhooktest.Ask(t, h, webhooktest.Review("CREATE", clean, nil))
		if got.Allowed != allowed {
			t.Errorf("%s: %+v", class, got)
		}
		if allowed && (len(got.Warnings) != 1 ||
			!strings.HasPrefix(got.Warnings[0], "not judged: policy p could not be evaluated: rule warn: ")) {
			t.Errorf("%s: the warnings are %q", class, got.Warnings)
		}
	}
}

// TestAWarnedErrorIsShown holds that where nothing blocks, the client hears of
// both, the finding and the error.
func TestAWarnedErrorIsShown(t *testing.T) {
	bad := webhooktest.Set(webhooktest.Deployment("web", false), true, "spec", "template", "spec", "hostPID")
	p := webhooktest.NewPolicy("p", hostPID+"\nwarn contains \"x\" if to_number(input.object.kind) > 1",
		webhooktest.WithAction(v1alpha1.AdmissionWarn))
	req := &policy.Request{Operation: policy.Create,
		Kind: policy.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}, Namespace: "shop", Name: "web",
		Object: bad, Now: time.Unix(1_700_000_000, 0)}
	v := decide(context.Background(), webhooktest.NewCatalog(t, p).Snapshot(), v1alpha1.FailurePolicyIgnore, req, nil)
	got := warnings(v)
	if len(got) != 2 || got[0] != "policy p: the pod shares the node's processes" ||
		!strings.HasPrefix(got[1], "policy p could not be evaluated to its end: ") {
		t.Errorf("warnings are %q", got)
	}
}
