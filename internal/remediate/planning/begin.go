// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"context"

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
	s, problem := strategy.Resolve(resolved, named)
	if problem != nil {
		return draft{}, problem.Message, nil
	}
	if problems := canary.ValidatePolicy(&resolved.Spec.Remediation); len(problems) > 0 {
		return draft{}, "spec.remediation." + problems[0].String(), nil // it got past admission
	}
	return newDraft(resolved, named, s), "", nil
}

// newDraft is a draft of a policy by the strategy that it follows.
func newDraft(pol *v1alpha1.ClusterRegoPolicy, named *v1alpha1.RemediationStrategy,
	s v1alpha1.RemediationStrategySpec) draft {
	return draft{policy: pol, named: named, strategy: s, rollout: canary.Rollout(pol.Spec.Remediation, &s, 0)}
}

// sharedStrategy is the RemediationStrategy that a policy follows, as the catalog knows
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
