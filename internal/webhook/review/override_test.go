// SPDX-License-Identifier: Apache-2.0

package review

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
	"evenkeel.dev/evenkeel/test/recorded"
	"evenkeel.dev/evenkeel/test/webhooktest"
)

// overridden is an override of the policy no-privileged that was asked for an hour ago.
func overridden(action v1alpha1.AdmissionAction, until time.Time,
	changes ...func(*v1alpha1.PolicyOverride)) *v1alpha1.PolicyOverride {
	o := &v1alpha1.PolicyOverride{ObjectMeta: metav1.ObjectMeta{Name: "no-privileged", Generation: 1},
		Spec: v1alpha1.PolicyOverrideSpec{PolicyUID: "1", AdmissionAction: action,
			ExpirationTime: metav1.NewTime(until)}}
	recorded.Requests(o, v1alpha1.RequestRecord{Action: v1alpha1.ActionOverride, User: "jane", Reason: "INC-42",
		RequestTime: metav1.NewTime(webhooktest.Now().Add(-time.Hour))})
	for _, change := range changes {
		change(o)
	}
	return o
}

func withUID(p *v1alpha1.ClusterRegoPolicy) { p.UID = "1" }

func TestHandlerHonoursOverrides(t *testing.T) {
	const suffix = " (policy overridden from Deny to Warn until 2026-03-01T13:00:00Z; not blocked)"
	const note = ": 1, overridden from Deny until 2026-03-01T13:00:00Z"
	hour := webhooktest.Now().Add(time.Hour)
	review := webhooktest.Review("CREATE", webhooktest.Deployment("web", true), nil)
	refused := serving.Response{Status: forbidden(denialOfA),
		AuditAnnotations: map[string]string{"no-privileged": "Deny: 1" + pathOfA}}
	cases := map[string]struct {
		reason   string
		change   func(*v1alpha1.ClusterRegoPolicy)
		override *v1alpha1.PolicyOverride
		want     serving.Response
	}{
		"to Warn: it passes, and the warning says until when": {override: overridden(v1alpha1.AdmissionWarn, hour),
			want: serving.Response{Allowed: true, Warnings: []string{warningOfA + suffix},
				AuditAnnotations: map[string]string{"no-privileged": "Warn" + note + pathOfA}}},
		"to Audit: it passes, and the audit log says until when": {override: overridden(v1alpha1.AdmissionAudit, hour),
			want: serving.Response{Allowed: true,
				AuditAnnotations: map[string]string{"no-privileged": "Audit" + note + pathOfA}}},
		"at its end it is refused": {reason: "without any event or restart",
			override: overridden(v1alpha1.AdmissionWarn, webhooktest.Now()), want: refused},
		"one that admission hasn't seen counts for nothing": {override: overridden(v1alpha1.AdmissionWarn, hour,
			func(o *v1alpha1.PolicyOverride) { o.Annotations = nil }), want: refused},
		"that of an earlier policy of the name counts for nothing": {
			override: overridden(v1alpha1.AdmissionWarn, hour,
				func(o *v1alpha1.PolicyOverride) { o.Spec.PolicyUID = "0" }), want: refused},
		"to Deny: nothing changes": {override: overridden(v1alpha1.AdmissionDeny, hour), want: refused},
		"a policy that declares less is never made stricter": {
			change:   webhooktest.WithAction(v1alpha1.AdmissionAudit),
			override: overridden(v1alpha1.AdmissionWarn, hour),
			want: serving.Response{Allowed: true,
				AuditAnnotations: map[string]string{"no-privileged": "Audit: 1" + pathOfA}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, withUID)
			if tc.change != nil {
				tc.change(p)
			}
			c := webhooktest.NewCatalog(t, p)
			before, _ := c.Snapshot().Revision(p.Name)
			c.SetOverride(tc.override)
			tc.want.UID = "705ab4f5"
			got := webhooktest.Ask(t, newHandler(t, serving.Class(p), c), review)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n(-want +got)\n%s", tc.reason, diff)
			}
			if after, _ := c.Snapshot().Revision(p.Name); after != before {
				t.Errorf("the revision changed from %s to %s", before, after)
			}
			c.DeleteOverride("no-privileged")
			if p.Spec.Admission.Action == v1alpha1.AdmissionDeny {
				if again := webhooktest.Ask(t, newHandler(t, serving.Class(p), c), review); again.Allowed {
					t.Error("without it, a violation passes")
				}
			}
		})
	}
}

func TestAPolicyThatIsOverriddenRefusesNothingForWantOfAVerdict(t *testing.T) {
	broken := webhooktest.NewPolicy("no-privileged", webhooktest.BrokenRego, withUID)
	other := webhooktest.NewPolicy("other", webhooktest.BrokenRego)
	review := webhooktest.Review("CREATE", webhooktest.Deployment("web", false), nil)
	hour := webhooktest.Now().Add(time.Hour)
	c := webhooktest.NewCatalog(t, broken)
	c.SetOverride(overridden(v1alpha1.AdmissionWarn, hour))
	got := webhooktest.Ask(t, newHandler(t, v1alpha1.FailurePolicyFail, c), review)
	if !got.Allowed || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "not judged") {
		t.Errorf("answered %+v; want it to pass with a warning", got)
	}
	c = webhooktest.NewCatalog(t, broken, other)
	c.SetOverride(overridden(v1alpha1.AdmissionWarn, hour))
	got = webhooktest.Ask(t, newHandler(t, v1alpha1.FailurePolicyFail, c), review)
	if got.Allowed || strings.Contains(got.Status.Message, "policy no-privileged could") ||
		!strings.Contains(got.Status.Message, "policy other could") {
		t.Errorf("answered %+v; want it refused for the other policy alone", got)
	}
	c = webhooktest.NewCatalog(t, broken)
	c.SetOverride(overridden(v1alpha1.AdmissionWarn, webhooktest.Now()))
	if webhooktest.Ask(t, newHandler(t, v1alpha1.FailurePolicyFail, c), review).Allowed {
		t.Error("what can't be judged passes after the override's end")
	}
}

func TestAnOverrideSurvivesWhatChangesTheCatalog(t *testing.T) {
	p := webhooktest.NewPolicy("no-privileged", webhooktest.PrivilegedRego, withUID)
	c := webhooktest.NewCatalog(t, p)
	c.SetOverride(overridden(v1alpha1.AdmissionWarn, webhooktest.Now().Add(time.Hour)))
	edited := p.DeepCopy()
	edited.Generation, edited.Spec.Title = 2, "Other words"
	edited.Labels = maps.Clone(map[string]string{"team": "a"})
	another := webhooktest.NewPolicy("b", webhooktest.PrivilegedRego)
	steps := map[string]func() error{
		"the policy is edited":        func() error { return c.Set(edited) },
		"another policy comes":        func() error { return c.Set(another) },
		"a waiver of it comes":        func() error { return c.SetWaiver(webhooktest.NewWaiver(webhooktest.Now())) },
		"a strategy comes":            func() error { return c.SetStrategy(&v1alpha1.RemediationStrategy{}) },
		"another policy goes":         func() error { c.Delete("b"); return nil },
		"another policy's comes late": func() error { c.SetOverride(&v1alpha1.PolicyOverride{}); return nil },
	}
	for name, step := range steps {
		if err := step(); err != nil {
			t.Fatal(err)
		}
		if c.Snapshot().Override(p.Name, webhooktest.Now()) == nil {
			t.Errorf("after %s, the policy is no longer overridden", name)
		}
	}
	again := p.DeepCopy()
	again.UID = "2"
	c.Delete(p.Name)
	if err := c.Set(again); err != nil {
		t.Fatal(err)
	}
	if o := c.Snapshot().Override(p.Name, webhooktest.Now()); o != nil {
		t.Errorf("a policy made anew is overridden: %s", o)
	}
}
