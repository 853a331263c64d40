// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/authors"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// begin is a draft by the strategy that the policy follows; or why there can't be any. A
// RemediationStrategy is read past every cache: whoever makes it more careful, and then
// turns a policy on that follows it, mustn't be overtaken.
func (p *Planner) begin(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy) (d draft, why string, err error) {
	resolved := pol.DeepCopy()
	named, err := strategy.Read(ctx, p.reader, strategy.Named(pol))
	if err != nil {
		return draft{}, "", err
	}
	if problem := strategy.Resolve(resolved, named); problem != nil {
		return draft{}, problem.Message, nil
	}
	d = draft{policy: resolved, named: named, strategy: *resolved.Spec.Remediation.RolloutStrategy.DeepCopy()}
	if problems := canary.Validate(&d.strategy); len(problems) > 0 {
		return draft{}, problems[0].String(), nil // it got past admission
	}
	return d, "", nil
}

// sharedStrategy is the RemediationStrategy that a policy refers to, as the catalog knows
// it; nil when there is none.
func sharedStrategy(snapshot *catalog.Snapshot, pol *v1alpha1.ClusterRegoPolicy) *v1alpha1.RemediationStrategy {
	return snapshot.Strategy(strategy.Named(pol))
}

// plannedStrategy is what a plan keeps of the RemediationStrategy that it was made by.
func plannedStrategy(s *v1alpha1.RemediationStrategy) *v1alpha1.PlannedStrategy {
	if s == nil {
		return nil
	}
	return &v1alpha1.PlannedStrategy{Name: s.Name, UID: string(s.UID), Generation: s.Generation,
		Author: canary.Author(s), Authors: authors.Of(s).Users}
}

// strategyStops says why a plan may begin no further target because of what is said of
// its strategy by now, or "".
func strategyStops(rem *v1alpha1.Remediation, current *v1alpha1.ClusterRegoPolicy, snapshot *catalog.Snapshot) (
	reason, message string) {
	if reason, message = strategyGone(rem, snapshot); message != "" {
		return reason, message
	}
	if healthSaid(rem, current) {
		return v1alpha1.ReasonPolicyChanged,
			fmt.Sprintf("policy %s says by now how the health of its targets is told; a new plan follows",
				rem.Spec.Plan.Policy.Name)
	}
	return "", ""
}

// strategyGone says why a plan may begin no further target for want of a strategy, or "":
// the policy refers to one that isn't known, or the one that the plan was made by is gone,
// also where another has got its name since. An edit changes nothing of a plan.
func strategyGone(rem *v1alpha1.Remediation, snapshot *catalog.Snapshot) (reason, message string) {
	if problem := snapshot.Unresolved(rem.Spec.Plan.Policy.Name); problem != nil {
		return problem.Reason, fmt.Sprintf("policy %s: %s", rem.Spec.Plan.Policy.Name, problem.Message)
	}
	by := rem.Spec.Plan.StrategyRef
	if by == nil {
		return "", ""
	}
	if is := snapshot.Strategy(by.Name); is == nil || string(is.UID) != by.UID {
		return v1alpha1.ReasonStrategyNotFound,
			fmt.Sprintf("RemediationStrategy %s, by which the plan was made, was deleted", by.Name)
	}
	return "", ""
}
