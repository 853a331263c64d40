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
	narrow := []string{"10%", "20%", "30%", "40%", "50%", "60%", "70%", "80%", "90%", "100%"}
	type rollout struct {
		mode     v1alpha1.RemediationMode
		strategy v1alpha1.RemediationStrategySpec
	}
	policy := func(mode v1alpha1.RemediationMode, waves ...string) rollout {
		r := rollout{mode: mode}
		for _, wave := range append([]string{"1"}, waves...) {
			r.strategy.Steps = append(r.strategy.Steps, v1alpha1.RolloutStep{Targets: intstr.Parse(wave),
				Soak: &metav1.Duration{Duration: time.Hour}})
		}
		r.strategy.SetDefaults()
		return r
	}
	hasty := policy(v1alpha1.RemediationManual, narrow...)
	hasty.strategy.Steps[0].Soak = &metav1.Duration{Duration: time.Minute}
	cases := map[string]struct {
		policy rollout
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
			want: []string{"spec.remediation.strategyRef: steps: a wave of 99% of the targets is asked for, the " +
				"administrator allows 10% (--remediation-max-wave): it is split"}},
		"a soak that is too short is told": {policy: hasty, floors: floors,
			want: []string{"spec.remediation.strategyRef: soak: the policy asks for 1m0s, the administrator allows " +
				"1h0m0s (--remediation-min-soak)"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := beyondFloors(&v1alpha1.PolicyRemediation{Mode: tc.policy.mode},
				&tc.policy.strategy, &tc.floors); strings.Join(
				got, "\n") != strings.Join(tc.want, "\n") {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
