// SPDX-License-Identifier: Apache-2.0

package review

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

func TestHandlerHonoursWaivers(t *testing.T) {
	const suffix = " (waived by Waiver shop/legacy until 2026-03-01T13:00:00Z; not blocked)"
	noted := map[string]string{"no-privileged": "not blocked, waived by shop/legacy: 1" + pathOfA}
	active := webhooktest.NewWaiver(webhooktest.Now().Add(time.Hour))
	warn := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
		webhooktest.WithAction(v1alpha1.AdmissionWarn))
	cases := map[string]struct {
		reason string
		policy *v1alpha1.ClusterRegoPolicy
		waiver *v1alpha1.Waiver
		review tree
		want   serving.Response
	}{
		"a waived object is admitted, and the warning names waiver and expiry": {
			waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"a waived update needs no old violation": {
			waiver: active, review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true),
				webhooktest.Deployment("web", false)),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"an object that isn't covered is refused": {
			waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("other", true), nil),
			want: serving.Response{Status: forbidden(strings.Replace(denialOfA, "shop/web", "shop/other", 1)),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"an expired waiver counts no more": {
			reason: "without any event or restart", waiver: webhooktest.NewWaiver(webhooktest.Now()),
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want: serving.Response{Status: forbidden(denialOfA),
				AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}},
		},
		"an old violator whose waiver has ended can still be changed": {
			reason: "existingViolations: what was there before never blocks a hotfix",
			waiver: webhooktest.NewWaiver(webhooktest.Now()),
			review: webhooktest.Review("UPDATE", webhooktest.Deployment("web", true),
				webhooktest.Deployment("web", true)),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + oldSuffix},
				AuditAnnotations: map[string]string{"no-privileged": "not blocked, already violated: 1" + pathOfA}},
		},
		"under a Warn policy the warning names the waiver": {
			policy: warn, waiver: active,
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want:   serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix}, AuditAnnotations: noted},
		},
		"under a DryRun policy nothing is said": {
			policy: webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego,
				webhooktest.WithAction(v1alpha1.AdmissionAudit)), waiver: active,
			review: webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil),
			want:   serving.Response{Allowed: true, AuditAnnotations: noted},
		},
		"a good object passes without a word": {
			waiver: active, review: webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil),
			want: serving.Response{Allowed: true},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.policy == nil {
				tc.policy = webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego)
			}
			c := webhooktest.NewCatalog(t, tc.policy)
			if err := c.SetWaiver(tc.waiver); err != nil {
				t.Fatal(err)
			}
			tc.want.UID = "705ab4f5"
			h := newHandler(t, serving.Class(tc.policy), c)
			if diff := cmp.Diff(tc.want, webhooktest.Ask(t, h, tc.review)); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
			waived := strings.Contains(tc.want.AuditAnnotations["no-privileged"], "waived")
			got := testutil.ToFloat64(h.Verdicts.violations.WithLabelValues("no-privileged", actionWaived))
			if (got == 1) != waived {
				t.Errorf("waived violations counted: %v", got)
			}
		})
	}
}

func TestAWaivedWarningFitsItsBound(t *testing.T) {
	e := webhooktest.NewWaiver(webhooktest.Now().Add(time.Hour), func(e *v1alpha1.Waiver) {
		e.Name = strings.Repeat("n", 253)
	})
	c := webhooktest.NewCatalog(t, webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego))
	if err := c.SetWaiver(e); err != nil {
		t.Fatal(err)
	}
	got := webhooktest.Ask(t, newHandler(t, v1alpha1.FailurePolicyFail, c),
		webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil))
	if len(got.Warnings) != 1 || len(got.Warnings[0]) > serving.MaxWarningBytes ||
		!strings.Contains(got.Warnings[0], "until 2026-03-01T13:00:00Z") {
		t.Errorf("warnings %q, want one of at most %d bytes with the expiry", got.Warnings, serving.MaxWarningBytes)
	}
}
