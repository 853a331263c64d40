// SPDX-License-Identifier: Apache-2.0

package validation

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/limits"
)

func TestBeyondFloors(t *testing.T) {
	most := intstr.Parse("10%")
	floors := limits.Floors{MaxMode: v1alpha1.RemediationManual, MaxWave: &most, MinSoak: time.Hour}
	policy := func(mode v1alpha1.RemediationMode, waves ...string) *v1alpha1.ClusterRegoPolicy {
		s := v1alpha1.RolloutStrategy{
			Mode: mode, RemediationStrategySpec: v1alpha1.RemediationStrategySpec{
				Soak: &metav1.Duration{Duration: time.Hour}}}
		for _, wave := range waves {
			s.Waves = append(s.Waves, intstr.Parse(wave))
		}
		return &v1alpha1.ClusterRegoPolicy{
			Spec: v1alpha1.RegoPolicySpec{Remediation: v1alpha1.PolicyRemediation{RolloutStrategy: s}}}
	}
	narrow := []string{"10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%", "100%"}
	cases := map[string]struct {
		policy *v1alpha1.ClusterRegoPolicy
		floors limits.Floors
		want   []string
	}{
		"without flags nobody is warned": {policy: policy(v1alpha1.RemediationAutomatic), want: nil},
		"nor is who asks for no more":    {policy: policy(v1alpha1.RemediationManual, narrow...), floors: floors},
		"nor is who asks for nothing":    {policy: policy(v1alpha1.RemediationDisabled), floors: floors},
		"a mode that isn't allowed is told": {policy: policy(v1alpha1.RemediationAutomatic, narrow...), floors: floors,
			want: []string{"spec.remediation.mode: the policy asks for Automatic, the administrator allows Manual " +
				"(--remediation-max-mode)"}},
		"a wave that is too large is told": {policy: policy(v1alpha1.RemediationManual), floors: floors,
			want: []string{"spec.remediation.waves: a wave of 75% of the targets is asked for, the administrator " +
				"allows 10% (--remediation-max-wave): it is split"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := beyondFloors(&tc.policy.Spec.Remediation.RolloutStrategy, &tc.floors); strings.Join(
				got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
