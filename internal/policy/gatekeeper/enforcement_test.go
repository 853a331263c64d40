// SPDX-License-Identifier: Apache-2.0

package gatekeeper_test

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/gatekeeper"
)

func TestActionsByEnforcementPoint(t *testing.T) {
	const webhook, audit, gator = "validation.gatekeeper.sh", "audit.gatekeeper.sh", "gator.gatekeeper.sh"
	const policies = "vap.k8s.io"
	at := func(action string, points ...string) string {
		return "{action: " + action + ", enforcementPoints: [{name: \"" +
			strings.Join(points, "\"}, {name: \"") + "\"}]}"
	}
	for name, tc := range map[string]struct {
		scoped []string
		want   v1alpha1.AdmissionAction
		note   string
		gator  bool
	}{
		"everywhere":            {[]string{at("deny", "*")}, v1alpha1.AdmissionDeny, "", true},
		"both that count":       {[]string{at("warn", webhook, audit)}, v1alpha1.AdmissionWarn, "", false},
		"the strictest":         {[]string{at("warn", webhook), at("deny", "*")}, v1alpha1.AdmissionDeny, "", true},
		"the strictest, before": {[]string{at("deny", "*"), at("warn", webhook)}, v1alpha1.AdmissionDeny, "", true},
		"audit alone": {[]string{at("deny", audit, gator)}, v1alpha1.AdmissionAudit,
			"Gatekeeper's webhook doesn't ask it", true},
		"the webhook alone": {[]string{at("dryrun", webhook), at("deny", gator)}, v1alpha1.AdmissionAudit,
			"Gatekeeper's audit leaves it out", true},
		"no stricter by Kubernetes' policies": {[]string{at("deny", webhook, audit), at("warn", policies)},
			v1alpha1.AdmissionDeny, "", false},
		"as strict by Kubernetes' policies": {[]string{at("deny", webhook, audit, policies)},
			v1alpha1.AdmissionDeny, "", false},
		"recorded by Kubernetes' policies": {[]string{at("deny", audit), at("dryrun", policies)},
			v1alpha1.AdmissionAudit, "Gatekeeper's webhook doesn't ask it", false},
	} {
		t.Run(name, func(t *testing.T) {
			text := mustBear + strings.Replace(bearOwner, "enforcementAction: warn",
				"enforcementAction: scoped\n  scopedEnforcementActions: ["+strings.Join(tc.scoped, ", ")+"]", 1)
			items := migrated(t, text)
			p := items[1].Policy
			if p == nil || p.Spec.Admission.Action != tc.want {
				t.Fatalf("got %+v, want %s", items[1], tc.want)
			}
			if notes := strings.Join(items[1].Notes, "\n"); !strings.Contains(notes, tc.note) ||
				tc.note == "" && strings.Contains(notes, "leaves it out") {
				t.Errorf("notes are %q, want %q", notes, tc.note)
			}
			if got := gatekeeper.Enforces(documents(t, text)[1].Object, gatekeeper.GatorPoint); got != tc.gator {
				t.Errorf("gator asks it: %t, want %t", got, tc.gator)
			}
		})
	}
}
