// SPDX-License-Identifier: Apache-2.0

package strategy

import (
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// Problem says why a policy's strategy isn't known, so that nothing is remediated by it.
type Problem struct {
	// Reason is the CamelCase reason of the policy's condition.
	Reason string
	// Message names the strategy, and says what to do.
	Message string
	// Why and Remedy are two parts of Message, for where it is too long: neither names the strategy.
	Why, Remedy string
}

func (p *Problem) Error() string { return p.Message }

// Named is the name of the RemediationStrategy that a policy refers to; empty for one that
// says itself how violations are remediated.
func Named(p *v1alpha1.ClusterRegoPolicy) string {
	if ref := p.Spec.Remediation.StrategyRef; ref != nil {
		return ref.Name
	}
	return ""
}

// Resolve puts into a policy what the RemediationStrategy says that it refers to, with
// defaults; named is nil when there is none of that name. A policy that refers to none
// stays as it is, but for its defaults. Where the strategy isn't known, the policy's mode
// is Disabled from then on, and the problem says why. The policy is changed in place; the
// strategy is copied.
func Resolve(p *v1alpha1.ClusterRegoPolicy, named *v1alpha1.RemediationStrategy) *Problem {
	remediation := &p.Spec.Remediation
	if remediation.StrategyRef == nil {
		remediation.SetDefaults()
		return nil
	}
	problem := wrong(remediation.StrategyRef.Name, named)
	if problem != nil {
		remediation.Mode = v1alpha1.RemediationDisabled
		remediation.RemediationStrategySpec = v1alpha1.RemediationStrategySpec{}
		remediation.SetDefaults()
		return problem
	}
	named.Spec.DeepCopyInto(&remediation.RemediationStrategySpec)
	remediation.RolloutStrategy.SetDefaults()
	return nil
}

func wrong(name string, named *v1alpha1.RemediationStrategy) *Problem {
	if named != nil && named.Name == name && named.DeletionTimestamp != nil {
		return newProblem(v1alpha1.ReasonStrategyNotFound,
			fmt.Sprintf("RemediationStrategy %q is being deleted, so nothing is remediated", name),
			"it is being deleted", "recreate it once it is gone, or name another")
	}
	if named == nil || named.Name != name {
		return newProblem(v1alpha1.ReasonStrategyNotFound,
			fmt.Sprintf("there is no RemediationStrategy %q, so nothing is remediated", name),
			"there is none of that name", "create it, or name another")
	}
	if why := Wrong(named); why != "" {
		return newProblem(v1alpha1.ReasonStrategyInvalid,
			fmt.Sprintf("RemediationStrategy %q can't be followed, so nothing is remediated: %s", name, why),
			"it can't be followed: "+why, "correct it")
	}
	return nil
}

func newProblem(reason, what, why, remedy string) *Problem {
	return &Problem{Reason: reason, Message: "spec.remediation.strategyRef: " + what + ": " + remedy, Why: why,
		Remedy: remedy}
}

// Wrong says why a strategy can't be followed, or "": it isn't of the form of its kind, or
// what it says can't be meant. Admission refuses both, but can be away.
func Wrong(s *v1alpha1.RemediationStrategy) string {
	if why := v1alpha1.Malformed(s); why != "" {
		return "what is stored isn't of the form of its kind: " + why
	}
	if problems := Check(s); len(problems) > 0 {
		return fmt.Sprintf("spec.%s: %s", problems[0].Field, problems[0].Message)
	}
	return ""
}

// Check finds what is wrong in a strategy's spec.
func Check(s *v1alpha1.RemediationStrategy) []canary.Problem {
	whole := v1alpha1.RolloutStrategy{RemediationStrategySpec: *s.Spec.DeepCopy()}
	return canary.Validate(&whole)
}
