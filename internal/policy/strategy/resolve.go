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

// Named is the name of the RemediationStrategy that a policy follows.
func Named(p *v1alpha1.ClusterRegoPolicy) string {
	if ref := p.Spec.Remediation.StrategyRef; ref != nil {
		return ref.Name
	}
	return v1alpha1.DefaultStrategy
}

// Resolve returns what the RemediationStrategy says that a policy follows, with defaults;
// named is nil when there is none of that name, which for DefaultStrategy means the
// defaults. Where the strategy isn't known, the policy's mode, which is changed in place, is
// Disabled from then on, and the problem says why.
func Resolve(p *v1alpha1.ClusterRegoPolicy, named *v1alpha1.RemediationStrategy) (
	v1alpha1.RemediationStrategySpec, *Problem) {
	p.Spec.Remediation.SetDefaults()
	var s v1alpha1.RemediationStrategySpec
	problem := wrong(Named(p), named)
	if problem != nil {
		p.Spec.Remediation.Mode = v1alpha1.RemediationDisabled
	} else if named != nil {
		named.Spec.DeepCopyInto(&s)
	}
	s.SetDefaults()
	return s, problem
}

func wrong(name string, named *v1alpha1.RemediationStrategy) *Problem {
	switch {
	case named == nil && name == v1alpha1.DefaultStrategy:
		return nil
	case named == nil || named.Name != name:
		return newProblem(v1alpha1.ReasonStrategyNotFound,
			fmt.Sprintf("there is no RemediationStrategy %q, so nothing is remediated", name),
			"there is none of that name", "create it, or name another")
	case named.DeletionTimestamp != nil:
		return newProblem(v1alpha1.ReasonStrategyNotFound,
			fmt.Sprintf("RemediationStrategy %q is being deleted, so nothing is remediated", name),
			"it is being deleted", "recreate it once it is gone, or name another")
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
	if problems := canary.Validate(&s.Spec); len(problems) > 0 {
		return fmt.Sprintf("spec.%s: %s", problems[0].Field, problems[0].Message)
	}
	return ""
}
