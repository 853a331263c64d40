// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"errors"
	"math"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
)

const (
	// DefaultStormInterval is how often a policy's violations are counted for its breaker, and
	// so how often a count that trips nothing is persisted at most.
	DefaultStormInterval = 10 * time.Second
	// sloTimeout bounds one question to Prometheus.
	sloTimeout = 10 * time.Second
)

// Observe is a breaker's status as the world makes it now, before anybody's write:
// time has passed, violations are counted, the objective's query is asked when its
// last answer is too old, and a demotion begins or ends. Nothing is persisted. While the
// strategy of its policy isn't known, what was counted by it stays as it is: nothing is
// remediated meanwhile, and other limits would forget what these remember.
func (b *Set) Observe(ctx context.Context, cb *v1alpha1.RemediationBreaker) v1alpha1.RemediationBreakerStatus {
	scope := cb.Spec.Scope
	strategy := b.strategy(scope)
	st := cb.Status
	if b.unresolved(scope) && st.State != "" {
		return circuit.Demotion(st, b.Revision(scope.Policy), b.o.Clock.Now())
	}
	if scope.Type == v1alpha1.BreakerScopeGlobal {
		st = b.released(ctx, st)
	}
	st = circuit.Tick(st, strategy, b.o.Clock.Now())
	if scope.Type == v1alpha1.BreakerScopePolicy {
		st = b.storm(st, scope.Policy, strategy)
	}
	st = b.burn(ctx, st, strategy)
	if scope.Type == v1alpha1.BreakerScopePolicy {
		st = circuit.Demotion(st, b.Revision(scope.Policy), b.o.Clock.Now())
	}
	return st
}

// storm counts the policy's violations, when a complete scan by the revision in
// force says how many there are and automation could act on them. The same count
// again changes nothing, and isn't kept; another is kept only now and then: a
// rollout changes it every second.
func (b *Set) storm(st v1alpha1.RemediationBreakerStatus, policy string,
	s v1alpha1.BreakerStrategy) v1alpha1.RemediationBreakerStatus {
	definition := b.o.Policies.Snapshot().Definition(policy)
	if definition == nil || !definition.Spec.Remediation.Mode.Runs() {
		return st
	}
	objects, revision, complete := b.o.Findings.Violating(policy)
	if !complete || revision != b.Revision(policy) {
		return st
	}
	now := b.o.Clock.Now()
	next := circuit.Storm(st, circuit.Violations{Revision: revision, Objects: int32(min(objects, math.MaxInt32)),
		In: func() []v1alpha1.ViolatingNamespace { return b.o.Findings.ViolatingIn(policy) }}, s, now)
	if known := st.Storm; known != nil && known.Revision == revision && next.State == st.State {
		// The same number counts until another one is known.
		age := now.Sub(known.SampledTime.Time)
		if next.Storm.Violating == known.Violating || age >= 0 && age < b.o.StormInterval {
			return st
		}
	}
	return next
}

// burn asks the objective's query when its last answer is too old.
func (b *Set) burn(ctx context.Context, st v1alpha1.RemediationBreakerStatus,
	s v1alpha1.BreakerStrategy) v1alpha1.RemediationBreakerStatus {
	switch {
	case s.SLO == nil && st.SLO == nil:
		return st
	case s.SLO == nil:
		return circuit.Burn(st, circuit.Answer{}, s, b.o.Clock.Now())
	case !circuit.SLODue(&st, s, b.o.SLOInterval, b.o.Clock.Now()):
		return st
	}
	answer := circuit.Answer{Err: errors.New("the manager knows no Prometheus: start it with --prometheus-url")}
	if b.o.Analyzer != nil {
		ctx, cancel := context.WithTimeout(ctx, sloTimeout)
		defer cancel()
		answer.Ratio, answer.Err = b.o.Analyzer.Sample(ctx, s.SLO.Query)
	}
	return circuit.Burn(st, answer, s, b.o.Clock.Now())
}

// strategy is the breaker strategy of a scope as it is in force now: a policy's
// own, and the defaults for what several policies share.
func (b *Set) strategy(scope v1alpha1.BreakerScope) v1alpha1.BreakerStrategy {
	var s v1alpha1.BreakerStrategy
	switch scope.Type {
	case v1alpha1.BreakerScopePolicy:
		b.o.Policies.Snapshot().Follows(scope.Policy).Breaker.DeepCopyInto(&s)
	case v1alpha1.BreakerScopeGlobal:
		s.SLO = b.o.SLO
	case v1alpha1.BreakerScopeNamespace:
	}
	s.SetDefaults()
	return s
}

// strategyFor is the same for a plan in hand: while the strategy of its policy isn't known,
// the one that the plan was made by.
func (b *Set) strategyFor(scope v1alpha1.BreakerScope, rem *v1alpha1.Remediation) v1alpha1.BreakerStrategy {
	if !b.unresolved(scope) || rem.Spec.Plan.Policy.Name != scope.Policy {
		return b.strategy(scope)
	}
	s := *rem.Spec.Plan.Rollout.Breaker.DeepCopy()
	s.SetDefaults()
	return s
}

// unresolved says whether a scope is that of a policy whose strategy isn't known.
func (b *Set) unresolved(scope v1alpha1.BreakerScope) bool {
	return scope.Type == v1alpha1.BreakerScopePolicy && b.o.Policies.Snapshot().Unresolved(scope.Policy) != nil
}

// Revision is a policy's revision in force, or "" when there is none.
func (b *Set) Revision(policy string) string {
	revision, _ := b.o.Policies.Snapshot().Revision(policy)
	return revision
}

// Mode is how far a policy's remediation goes now: a demoted policy's plans are
// dry runs. It counts the policy's violations first, so that a storm is known
// before anybody plans to fix it.
func (b *Set) Mode(ctx context.Context, pol *v1alpha1.ClusterRegoPolicy, mode v1alpha1.RemediationMode) (
	v1alpha1.RemediationMode, error) {
	if !mode.Runs() {
		return mode, nil
	}
	demoted := false
	err := b.update(ctx, PolicyScope(pol.Name), nil, func(cb *v1alpha1.RemediationBreaker) {
		cb.Status = b.Observe(ctx, cb)
		demoted = cb.Status.Demoted != nil
	})
	if demoted {
		mode = v1alpha1.RemediationDryRun
	}
	return mode, err
}

// Demoted says whether only dry runs are made for a policy, as the cache knows it:
// whoever writes asks the breaker itself, anew.
func (b *Set) Demoted(ctx context.Context, policy string) (*v1alpha1.BreakerDemotion, error) {
	cb, err := read(ctx, b.o.Client, breakerName(PolicyScope(policy)))
	if err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return circuit.Demotion(cb.Status, b.Revision(policy), b.o.Clock.Now()).Demoted, nil
}
