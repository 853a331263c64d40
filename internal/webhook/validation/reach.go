// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy/match"
	"evenkeel.dev/evenkeel/internal/webhook/serving"
)

// outOfReach warns whoever writes a policy of the objects that its fixes will never
// reach, as far as its match tells. What a fix sets is known only when there is an
// object to fix.
func outOfReach(p *v1alpha1.ClusterRegoPolicy, reach *limits.Reach) []string {
	switch p.Spec.Remediation.Mode {
	case v1alpha1.RemediationDryRun, v1alpha1.RemediationManual, v1alpha1.RemediationAutomatic:
	default:
		return nil
	}
	var out []string
	for _, gk := range match.Kinds(p) {
		kind := schema.GroupKind{Group: gk.Group, Kind: gk.Kind}
		whole := reach.Target(kind, "", "", v1alpha1.OnlyCreates(p.Spec.Remediation.AllowedActions))
		if whole == "" {
			continue
		}
		why, unless := reach.Bars(kind)
		out = append(out, inWarnings("spec.remediation: "+whole,
			"spec.remediation: "+why, "spec.remediation: so it is "+unless)...)
	}
	for _, namespace := range p.Spec.Match.Namespaces {
		if slices.Contains(reach.Exempt, namespace) && !slices.Contains(reach.Namespaces, namespace) {
			out = append(out, fit("spec.remediation: nothing is written in namespace %s, unless the manager's flag "+
				limits.FlagNamespaces+" names it", namespace))
		}
	}
	return serving.BoundedWarnings(out, "")
}
