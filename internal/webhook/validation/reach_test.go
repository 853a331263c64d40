// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
)

func TestAuthorsAreWarnedOfWhatNoFixReaches(t *testing.T) {
	reach := &limits.Reach{Exempt: []string{"kube-system"}}
	cases := map[string]struct {
		mode       v1alpha1.RemediationMode
		group      string
		kind       string
		namespaces []string
		want       string
	}{
		"a kind that grants permissions": {v1alpha1.RemediationAutomatic, "rbac.authorization.k8s.io",
			"ClusterRole", nil, "no fix writes a ClusterRole"},
		"a dry run of the same": {v1alpha1.RemediationDryRun, "rbac.authorization.k8s.io", "ClusterRole",
			nil, "no fix writes a ClusterRole"},
		"no remediation at all": {v1alpha1.RemediationDisabled, "rbac.authorization.k8s.io",
			"ClusterRole", nil, ""},
		"a namespace that is exempt": {v1alpha1.RemediationManual, "apps", "Deployment",
			[]string{"kube-system", "shop"}, "nothing is written in namespace kube-system"},
		"kinds and namespaces within reach": {v1alpha1.RemediationAutomatic, "apps", "Deployment", []string{"shop"},
			""},
		"a policy that says nothing of modes": {"", "", "Namespace", nil, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p := &v1alpha1.ClusterRegoPolicy{}
			p.Spec.Remediation.Mode = c.mode
			p.Spec.Match.Kinds = []v1alpha1.KindMatch{{APIGroups: []string{c.group}, Kinds: []string{c.kind}}}
			p.Spec.Match.Namespaces = c.namespaces
			got := strings.Join(outOfReach(p, reach), "\n")
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("warnings %q, want %q", got, c.want)
			}
		})
	}
}
