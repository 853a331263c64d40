// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

// Whoever is on call patches a policy that a PolicySource keeps: that won't last, and they
// are told so at once, with what does.
func TestAChangeThatASourceRestoresIsWarnedOf(t *testing.T) {
	sourced := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Labels = map[string]string{v1alpha1.LabelSourceNamespace: "evenkeel-system",
			v1alpha1.LabelSourceName: "rules"}
	}
	denying, warning := webhooktest.WithAction(v1alpha1.AdmissionDeny), webhooktest.WithAction(v1alpha1.AdmissionWarn)
	newPolicy := func(change ...func(*v1alpha1.ClusterRegoPolicy)) tree {
		return policyTree(t, webhooktest.NewPolicy("p", webhooktest.PrivilegedRego, change...))
	}
	as := func(user string) func(tree) {
		return func(request tree) { request["userInfo"] = tree{"username": user} }
	}
	cases := map[string]struct {
		reason string
		review tree
		want   bool
	}{
		"its spec is changed": {
			review: webhooktest.Review("UPDATE", newPolicy(sourced, warning), newPolicy(sourced, denying)), want: true},
		"its labels are taken off in the same write": {
			reason: "the source's status knows it still", want: true,
			review: webhooktest.Review("UPDATE", newPolicy(warning), newPolicy(sourced, denying))},
		"the manager writes": {
			reason: "that is the source itself",
			review: webhooktest.Review("UPDATE", newPolicy(sourced, warning), newPolicy(sourced, denying), as("self"))},
		"a policy of nobody's": {
			review: webhooktest.Review("UPDATE", newPolicy(warning), newPolicy(denying))},
		"only a label is changed": {
			reason: "labels of others stay",
			review: webhooktest.Review("UPDATE", newPolicy(sourced, denying), newPolicy(denying))},
		"it is made": {
			reason: "there is nothing yet that it would be restored to",
			review: webhooktest.Review("CREATE", newPolicy(sourced, denying), nil)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := &PolicyHandler{Base: webhooktest.Base(t, time.Unix(0, 0)), Checker: newChecker(webhooktest.Kinds()),
				Self: "self"}
			request := tc.review["request"].(tree)
			webhooktest.OfKind("ClusterRegoPolicy", "clusterregopolicies")(request)
			request["object"] = withWho(t, tc.review)
			got := webhooktest.Ask(t, h, tc.review)
			if !got.Allowed {
				t.Fatalf("refused: %v", got.Status)
			}
			text := strings.Join(got.Warnings, "\n")
			for _, part := range []string{"PolicySource evenkeel-system/rules keeps policy p",
				"evenkeel policy override p --enforcement Warn",
				"spec.overrides of PolicySource evenkeel-system/rules"} {
				if strings.Contains(text, part) != tc.want {
					t.Errorf("%s: warnings %q, want %v of %q", tc.reason, text, tc.want, part)
				}
			}
			for _, w := range got.Warnings {
				if strings.HasSuffix(w, "…") {
					t.Errorf("a warning is cut: %s", w)
				}
			}
		})
	}
}
