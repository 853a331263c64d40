// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/webhooktest"
)

func TestAnOptOutThatHasNoEffectIsWarnedOfOnce(t *testing.T) {
	with := func(object tree, part, value string) tree {
		return webhooktest.Set(object, tree{v1alpha1.AnnotationRemediation: value}, "metadata", part)
	}
	good := func() tree { return webhooktest.Deployment("web", false) }
	mistyped := with(good(), "annotations", "disabled")
	until := func(end string) tree {
		said := tree{v1alpha1.AnnotationRemediation: "paused", v1alpha1.AnnotationPausedUntil: end}
		return webhooktest.Set(good(), said, "metadata", "annotations")
	}
	cases := map[string]struct {
		reason string
		review tree
		want   bool
	}{
		"it is written":           {review: webhooktest.Review("CREATE", mistyped, nil), want: true},
		"it comes with an update": {review: webhooktest.Review("UPDATE", mistyped, good()), want: true},
		"as a label": {review: webhooktest.Review("CREATE", with(good(), "labels", "paused"), nil),
			want: true},
		"with an end that can't be read": {review: webhooktest.Review("CREATE", until("tomorrow"), nil), want: true},
		"with an end that has passed": {review: webhooktest.Review("CREATE", until("2001-01-01T00:00:00Z"), nil),
			want: true},
		"nothing but an end": {
			review: webhooktest.Review("CREATE", webhooktest.Set(good(), tree{v1alpha1.AnnotationPausedUntil: "2999"},
				"metadata", "annotations"), nil), want: true},
		"with an end to come": {review: webhooktest.Review("CREATE", until("2999-01-01T00:00:00Z"), nil)},
		"its end came since": {"nobody writes it now", webhooktest.Review("UPDATE", until("2001-01-01T00:00:00Z"),
			until("2001-01-01T00:00:00Z")), false},
		"it was there before": {
			"a controller's updates would warn for ever", webhooktest.Review("UPDATE", mistyped, mistyped), false},
		"it opts out": {
			review: webhooktest.Review("CREATE", with(good(), "annotations", "paused"), nil)},
		"nobody opts out":       {review: webhooktest.Review("CREATE", good(), nil)},
		"the object is deleted": {review: webhooktest.Review("DELETE", nil, mistyped)},
		"another value takes over": {
			review: webhooktest.Review("UPDATE", with(good(), "annotations", "off"), mistyped), want: true},
		"the object is refused": {
			"the refusal is what counts",
			webhooktest.Review("CREATE", with(webhooktest.Deployment("web", true), "annotations", "off"), nil), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			h := newHandler(t, v1alpha1.FailurePolicyFail,
				webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)))
			got := strings.Join(webhooktest.Ask(t, h, tc.review).Warnings, "\n")
			if strings.Contains(got, v1alpha1.AnnotationRemediation) != tc.want {
				t.Errorf("%s: warnings %q, want one: %v", tc.reason, got, tc.want)
			}
		})
	}
}
