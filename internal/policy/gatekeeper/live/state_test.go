// SPDX-License-Identifier: Apache-2.0

package live

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestWhoEnforcesAConstraint(t *testing.T) {
	cases := map[string]struct {
		enforcement string                   // empty for none
		action      v1alpha1.AdmissionAction // empty for no policy
		want        State
	}{
		"no policy":                 {"deny", "", NotMigrated},
		"no policy, and it records": {dryRun, "", NotMigrated},
		"the policy records":        {"", v1alpha1.AdmissionAudit, Gatekeeper},
		"both enforce":              {"warn", v1alpha1.AdmissionWarn, Both},
		"the constraint records":    {dryRun, v1alpha1.AdmissionDeny, Evenkeel},
		"both record":               {dryRun, v1alpha1.AdmissionAudit, Neither},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			c, p := constraintAt(time.Time{}, map[string]any{}), teamPolicy("shop")
			if tc.enforcement != "" {
				_ = unstructured.SetNestedField(c.Object.Object, tc.enforcement, "spec", "enforcementAction")
			}
			if p.Spec.Admission.Action = tc.action; tc.action == "" {
				p = nil
			}
			if got := StateOf(c, p); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestAPolicyEnforcesOnlyByItsStatus(t *testing.T) {
	cases := map[string]struct {
		change func(*v1alpha1.ClusterRegoPolicy)
		want   string
	}{
		"it does":                 {},
		"nobody has looked at it": {func(p *v1alpha1.ClusterRegoPolicy) { p.Generation++ }, "hasn't reconciled"},
		"it says nothing of itself": {func(p *v1alpha1.ClusterRegoPolicy) { p.Status.Conditions = nil },
			"it says nothing of itself"},
		"it isn't ready": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Status.Conditions[0].Status, p.Status.Conditions[0].Reason = metav1.ConditionFalse, "CompileFailed"
		}, "CompileFailed"},
		"the scan can't list a kind": {change: func(p *v1alpha1.ClusterRegoPolicy) {
			p.Status.Conditions[0].Status = metav1.ConditionFalse
			p.Status.Conditions[0].Reason = v1alpha1.ReasonScanIncomplete
		}},
		"an override softens it": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Status.InForce.AdmissionAction = v1alpha1.AdmissionAudit
		}, "overrides"},
		"what it looks up isn't known": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Message: "Ingress may not be listed",
				Type: v1alpha1.ConditionReferencesKnown, Status: metav1.ConditionFalse})
		}, "Ingress may not be listed"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			p := teamPolicy("shop")
			p.Status.InForce = &v1alpha1.PolicyInForce{AdmissionAction: p.Spec.Admission.Action}
			p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue}}
			if tc.change != nil {
				tc.change(p)
			}
			err := InForce(p)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it says %v, want %q", err, tc.want)
			}
		})
	}
}
