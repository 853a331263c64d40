// SPDX-License-Identifier: Apache-2.0

package source

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/directory"
)

func TestOverride(t *testing.T) {
	limited := func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Parameters = parameters(`{"max":3,"of":{"a":1,"b":2},"list":[1,2]}`)
	}
	policies := []directory.Located{located("net-a", limited), located("net-b"), located("pods")}
	type summary struct {
		Enforcement v1alpha1.AdmissionAction
		Mode        v1alpha1.RemediationMode
		Parameters  string
	}
	plain := summary{Enforcement: v1alpha1.AdmissionAudit, Mode: v1alpha1.RemediationDisabled}
	withLimits := plain
	withLimits.Parameters = `{"max":3,"of":{"a":1,"b":2},"list":[1,2]}`
	tests := map[string]struct {
		reason    string
		overrides []v1alpha1.SourceOverride
		want      map[string]summary
		problems  []string
	}{
		"none": {reason: "policies stay as the repository has them",
			want: map[string]summary{"net-a": withLimits, "net-b": plain, "pods": plain}},
		"all of them": {reason: "no names means all",
			overrides: []v1alpha1.SourceOverride{{AdmissionAction: v1alpha1.AdmissionWarn}},
			want: map[string]summary{
				"net-a": {v1alpha1.AdmissionWarn, v1alpha1.RemediationDisabled, withLimits.Parameters},
				"net-b": {v1alpha1.AdmissionWarn, v1alpha1.RemediationDisabled, ""},
				"pods":  {v1alpha1.AdmissionWarn, v1alpha1.RemediationDisabled, ""}}},
		"in order": {reason: "a later one has the last word",
			overrides: []v1alpha1.SourceOverride{
				{Policies: []string{"net-*"}, AdmissionAction: v1alpha1.AdmissionWarn,
					RemediationMode: v1alpha1.RemediationDryRun},
				{Policies: []string{"net-b"}, AdmissionAction: v1alpha1.AdmissionDeny}},
			want: map[string]summary{
				"net-a": {v1alpha1.AdmissionWarn, v1alpha1.RemediationDryRun, withLimits.Parameters},
				"net-b": {v1alpha1.AdmissionDeny, v1alpha1.RemediationDryRun, ""}, "pods": plain}},
		"parameters": {reason: "keys are merged, lists replaced, null removes",
			overrides: []v1alpha1.SourceOverride{
				{Policies: []string{"net-?"}, Parameters: parameters(`{"max":null,"of":{"b":5},"list":[9]}`)}},
			want: map[string]summary{
				"net-a": {v1alpha1.AdmissionAudit, v1alpha1.RemediationDisabled, `{"list":[9],"of":{"a":1,"b":5}}`},
				"net-b": {v1alpha1.AdmissionAudit, v1alpha1.RemediationDisabled, `{"list":[9],"of":{"b":5}}`},
				"pods":  plain}},
		"a name that isn't there": {reason: "who wrote it believes that something is overridden",
			overrides: []v1alpha1.SourceOverride{
				{Policies: []string{"nat-*", "net-c"}, AdmissionAction: v1alpha1.AdmissionDeny}},
			want: map[string]summary{"net-a": withLimits, "net-b": plain, "pods": plain},
			problems: []string{
				`spec.overrides[0].policies[1]: the repository has no policy "net-c": correct the name, or remove it`}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			changed, found := override(policies, tc.overrides)
			got := map[string]summary{}
			for _, p := range changed {
				s := summary{Enforcement: p.Definition.Spec.Admission.Action, Mode: p.Definition.Spec.Remediation.Mode}
				if p.Definition.Spec.Parameters != nil {
					s.Parameters = string(p.Definition.Spec.Parameters.Raw)
				}
				got[p.Definition.Name] = s
			}
			var problems []string
			for _, p := range found {
				problems = append(problems, p.File+": "+p.Message)
			}
			if diff := cmp.Diff(tc.want, got) + cmp.Diff(tc.problems, problems); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if got := string(policies[0].Definition.Spec.Parameters.Raw); got != withLimits.Parameters {
		t.Errorf("an override changed the policy that it was given: %s", got)
	}
}
