package webhook

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/prose"
)

// beyondFloors warns whoever writes a policy of what it asks for and won't get, as far
// as that can be told without knowing how many targets its plans will have.
func beyondFloors(p *v1alpha1.ClusterRegoPolicy, floors *limits.Floors) []string {
	asked := p.Spec.Remediation.DeepCopy()
	asked.SetDefaults()
	if asked.Mode == v1alpha1.RemediationDisabled {
		return nil
	}
	_, changed := floors.Strategy(*asked, 0)
	var out []string
	for _, limit := range changed {
		out = append(out, prose.Shorten("spec.remediation."+limit.String(), maxWarningBytes))
	}
	// Of 100 targets, as many are in a wave as its share in percent.
	sizes, err := canary.Sizes(100, asked)
	if most := floors.MaxWave; err == nil && most != nil && most.Type == intstr.String && int(slices.Max(sizes)) > floors.Wave(100) {
		out = append(out, fmt.Sprintf("spec.remediation.waves: the policy asks for a wave of %d%% of the targets, the administrator allows %s (%s): it is split",
			slices.Max(sizes), most, limits.FlagMaxWave))
	}
	return out
}
