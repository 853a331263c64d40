// SPDX-License-Identifier: Apache-2.0

package canary

import (
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// Rollout resolves what a policy and the strategy that it follows ask for, for a plan that may
// write so many targets. It is the only place that turns what people write into what a
// rollout reads. The strategy's defaults are set.
func Rollout(r v1alpha1.PolicyRemediation, s *v1alpha1.RemediationStrategySpec,
	writable int) v1alpha1.PlannedRollout {
	s = s.DeepCopy()
	out := v1alpha1.PlannedRollout{
		Mode: r.Mode, AllowedActions: r.AllowedActions,
		MaxInFlight:      inFlight(s.MaxInFlight, writable),
		MaxPerNamespace:  perNamespace(s.MaxPerNamespace),
		ProgressDeadline: s.ProgressDeadline, RetryLimit: ptr.Deref(s.RetryLimit, v1alpha1.DefaultRetryLimit),
		RequireDistinctApprover: s.Approval.RequireDistinctApprover, ApprovalTimeout: s.Approval.Timeout,
		EscalationDeadline: s.Escalation.Deadline,
		OnFailure:          s.OnFailure, RollbackScope: s.RollbackScope, ManagedObjects: s.ManagedObjects,
		Breaker: s.Breaker,
	}
	for _, w := range s.Windows {
		out.Windows = append(out.Windows, v1alpha1.PlannedWindow(w))
	}
	if s.Analysis != nil {
		for _, m := range s.Analysis.Metrics {
			out.Metrics = append(out.Metrics, v1alpha1.PlannedMetric(m))
		}
	}
	if s.Health != nil {
		out.UnknownHealth = s.Health.Unknown
		for _, rule := range s.Health.Rules {
			out.HealthRules = append(out.HealthRules, v1alpha1.PlannedHealthRule(rule))
		}
	}
	return out
}

// Soaks are steps as waves of no target: what is known of them before the number of targets is.
func Soaks(steps []v1alpha1.RolloutStep) []v1alpha1.PlannedWave {
	waves := make([]v1alpha1.PlannedWave, len(steps))
	for i, step := range steps {
		waves[i].Soak = *step.Soak
	}
	return waves
}

// inFlight is 0 for what can't be read.
func inFlight(most *intstr.IntOrString, writable int) int32 {
	if most == nil {
		return v1alpha1.DefaultMaxInFlight
	}
	s, err := parseShare(*most)
	if err != nil {
		return 0
	}
	if s.percent {
		s.value = s.of(int64(max(writable, 1)))
	}
	return int32(min(s.value, maxInFlight)) //nolint:gosec // at most maxInFlight.
}

// perNamespace is 0 for no limit, and less for one that can't be meant.
func perNamespace(most *int32) int32 {
	switch {
	case most == nil:
		return 0
	case *most < 1:
		return -1
	}
	return *most
}
