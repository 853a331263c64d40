// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

func TestWhoEnforcesAConstraint(t *testing.T) {
	cases := map[string]struct {
		enforcement string
		action      v1alpha1.AdmissionAction // empty for no policy
		switched    bool
		want        State
	}{
		"no policy":                                {"deny", "", false, NotMigrated},
		"no policy, and it records":                {dryRun, "", false, NotMigrated},
		"the policy records":                       {"", v1alpha1.AdmissionAudit, false, Gatekeeper},
		"both enforce":                             {"warn", v1alpha1.AdmissionWarn, false, Both},
		"the constraint records":                   {dryRun, v1alpha1.AdmissionDeny, false, Evenkeel},
		"it was switched":                          {dryRun, v1alpha1.AdmissionDeny, true, Evenkeel},
		"it was switched, and records":             {dryRun, v1alpha1.AdmissionAudit, true, Nobody},
		"it was switched, and is gone":             {dryRun, "", true, Nobody},
		"it was switched, and Gatekeeper enforces": {"deny", v1alpha1.AdmissionAudit, true, Gatekeeper},
		"both record, and nobody enforces":         {dryRun, v1alpha1.AdmissionAudit, false, Neither},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newWorld(tc.enforcement)
			if tc.switched {
				w.constraint.Object.SetAnnotations(map[string]string{v1alpha1.AnnotationEnforcedBy: "services"})
			}
			p := w.policy
			if p.Spec.Admission.Action = tc.action; tc.action == "" {
				p = nil
			}
			if got := StateOf(w.constraint, p); got != tc.want {
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
		"it does": {},
		"it is written otherwise": {func(p *v1alpha1.ClusterRegoPolicy) {
			p.Spec.Admission.Action = v1alpha1.AdmissionWarn
		}, "somebody has set admission.action"},
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
			w := newWorld("deny")
			w.policy.Spec.Admission.Action = v1alpha1.AdmissionDeny
			w.takeUp()
			if tc.change != nil {
				tc.change(w.policy)
			}
			err := Enforces(w.policy, v1alpha1.AdmissionDeny)
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("it says %v, want %q", err, tc.want)
			}
		})
	}
}
