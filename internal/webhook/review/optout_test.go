// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestAnOptOutThatHasEndedIsWarnedOfOnce(t *testing.T) {
	good := func() tree { return webhooktest.Deployment("web", false) }
	until := func(end string) tree {
		said := tree{v1alpha1.AnnotationRemediation: "paused", v1alpha1.AnnotationPausedUntil: end}
		return webhooktest.Set(good(), said, "metadata", "annotations")
	}
	refused := webhooktest.Set(webhooktest.Deployment("web", true), tree{v1alpha1.AnnotationRemediation: "paused",
		v1alpha1.AnnotationPausedUntil: "2001-01-01T00:00:00Z"}, "metadata", "annotations")
	cases := map[string]struct {
		reason string
		review tree
		want   bool
	}{
		"an end that has passed": {review: webhooktest.Review("CREATE", until("2001-01-01T00:00:00Z"), nil),
			want: true},
		"it comes with an update": {review: webhooktest.Review("UPDATE", until("2001-01-01T00:00:00Z"), good()),
			want: true},
		"another end takes over": {review: webhooktest.Review("UPDATE", until("2001-01-01T00:00:00Z"),
			until("2002-01-01T00:00:00Z")), want: true},
		"an end to come": {review: webhooktest.Review("CREATE", until("2999-01-01T00:00:00Z"), nil)},
		"its end came since": {"nobody writes it now", webhooktest.Review("UPDATE", until("2001-01-01T00:00:00Z"),
			until("2001-01-01T00:00:00Z")), false},
		"an end that can't be read": {"the API server says so itself",
			webhooktest.Review("CREATE", until("tomorrow"), nil), false},
		"nothing but an end": {"the API server says so itself", webhooktest.Review("CREATE",
			webhooktest.Set(good(), tree{v1alpha1.AnnotationPausedUntil: "2001-01-01T00:00:00Z"}, "metadata",
				"annotations"), nil), false},
		"nobody opts out":       {review: webhooktest.Review("CREATE", good(), nil)},
		"the object is deleted": {review: webhooktest.Review("DELETE", nil, until("2001-01-01T00:00:00Z"))},
		"the object is refused": {"the refusal is what counts", webhooktest.Review("CREATE", refused, nil), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, v1alpha1.FailurePolicyFail,
				webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
			got := strings.Join(webhooktest.Ask(t, h, tc.review).Warnings, "\n")
			if strings.Contains(got, "the opt-out ended at") != tc.want {
				t.Errorf("%s: warnings %q, want one: %v", tc.reason, got, tc.want)
			}
		})
	}
}
