// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"fmt"
	"maps"

	"k8s.io/apimachinery/pkg/api/equality"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// strategies are the RemediationStrategies that policies may refer to, by name.
type strategies map[string]*v1alpha1.RemediationStrategy

// SetStrategy puts a strategy in force for every policy that refers to it. It is copied.
// One that can't be followed is kept all the same: the status of those policies says why
// nothing is remediated.
func (c *Catalog) SetStrategy(s *v1alpha1.RemediationStrategy) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	kept := s.DeepCopy()
	kept.Status, kept.ManagedFields, kept.ResourceVersion = v1alpha1.RemediationStrategyStatus{}, nil, ""
	if equality.Semantic.DeepEqual(c.strategies[s.Name], kept) {
		return nil
	}
	c.strategies[s.Name] = kept
	return c.resolveAgain(s.Name)
}

// DeleteStrategy takes a strategy out of force: the policies that refer to it remediate
// nothing from then on. Unknown names are ignored.
func (c *Catalog) DeleteStrategy(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.strategies[name]; !known {
		return nil
	}
	delete(c.strategies, name)
	return c.resolveAgain(name)
}

// resolveAgain puts all policies that refer to a strategy in force as it says now.
func (c *Catalog) resolveAgain(name string) error {
	entries, changed := maps.Clone(c.snapshot.Load().entries), false
	for policy, e := range entries {
		if !e.refersTo(name) {
			continue
		}
		again, err := e.resolved(c.strategies)
		if err != nil {
			return fmt.Errorf("policy %s: %w", policy, err)
		}
		entries[policy], changed = again, true
	}
	if changed {
		return c.swap(entries, c.snapshot.Load().templates)
	}
	now := *c.snapshot.Load()
	now.strategies = maps.Clone(c.strategies)
	c.publish(&now)
	return nil
}

// resolve returns a copy of the policy, which has mode Disabled where its strategy isn't known, and the strategy.
func (s strategies) resolve(authored *v1alpha1.ClusterRegoPolicy) (*v1alpha1.ClusterRegoPolicy, followed) {
	p := authored.DeepCopy()
	spec, unresolved := strategy.Resolve(p, s[strategy.Named(p)])
	return p, followed{strategy: &spec, unresolved: unresolved}
}

func (e *entry) refersTo(name string) bool {
	return strategy.Named(e.authored) == name || e.good != nil && strategy.Named(e.good) == name ||
		e.ahead != nil && e.ahead.refersTo(name)
}

// resolved is the entry by what the strategies say now. Neither verdicts nor fixes are
// changed by it, and so nothing is compiled.
func (e *entry) resolved(known strategies) (*entry, error) {
	again := *e
	again.newest, again.followed = known.resolve(e.authored)
	if e.compiled == nil {
		return &again, nil
	}
	var good *v1alpha1.ClusterRegoPolicy
	var err error
	if e.ahead != nil {
		if again.ahead, err = e.ahead.resolved(known); err != nil {
			return nil, err
		}
	}
	good, again.followed = known.resolve(e.good)
	definition := e.compiled.Policy().DeepCopy()
	definition.Spec.Remediation = good.Spec.Remediation // its mode
	again.compiled, err = e.compiled.Redefine(definition)
	return &again, err
}

// Strategy is the RemediationStrategy of that name; nil when there is none. It is shared:
// read it only.
func (s *Snapshot) Strategy(name string) *v1alpha1.RemediationStrategy {
	if known := s.strategies[name]; known != nil && known.DeletionTimestamp == nil {
		return known
	}
	return nil
}

// Follows is what the strategy of a policy in force says, with defaults; the defaults alone where it isn't known. It
// is shared: read it only.
func (s *Snapshot) Follows(name string) *v1alpha1.RemediationStrategySpec {
	if e, ok := s.entries[name]; ok {
		return e.strategy
	}
	defaults := &v1alpha1.RemediationStrategySpec{}
	defaults.SetDefaults()
	return defaults
}

// Unresolved says why the strategy of a policy in force isn't known, so that nothing is
// remediated; nil when it is.
func (s *Snapshot) Unresolved(name string) *strategy.Problem {
	if e, ok := s.entries[name]; ok {
		return e.unresolved
	}
	return nil
}
