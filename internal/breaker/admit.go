// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"context"
	"maps"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/rollout"
)

// admission is one breaker's answer to a plan.
type admission struct {
	breaker *v1alpha1.RemediationBreaker
	// observed is its status as it is now, admitted that with the plan's permit.
	observed, admitted v1alpha1.RemediationBreakerStatus
	verdict            circuit.Verdict
	// only is the namespace in which alone it lets nothing through, and why (refusal);
	// the verdict is that for all others.
	only, refusal string
}

// ask asks one breaker whether a plan may write now. Nothing is persisted.
func (b *Set) ask(ctx context.Context, cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation) admission {
	a := admission{breaker: cb, observed: b.Observe(ctx, cb)}
	strategy, now := b.strategyFor(cb.Spec.Scope, rem), b.o.Clock.Now()
	seen := cb.DeepCopy()
	seen.Status = a.observed
	a.admitted, a.verdict = circuit.Admit(seen, rem.Name, strategy, now, permitFor(rem))
	a.refusal = a.verdict.Message
	if !a.verdict.Allowed && a.verdict.Only != "" {
		a.only, a.verdict = a.verdict.Only, circuit.Verdict{Allowed: true}
	}
	if demoted := a.observed.Demoted; a.verdict.Allowed && demoted != nil {
		a.verdict = circuit.Verdict{Reason: v1alpha1.ReasonDemoted, Message: demoted.Message}
	}
	if a.verdict.Allowed {
		if gate := circuit.SLOGate(cb.Name, &a.observed, strategy, b.o.SLOInterval, now); !gate.Allowed {
			a.verdict = gate
		}
	}
	return a
}

// Consult checks whether the breakers let the plan write now, and in which namespaces they don't.
// No permit is taken: that happens right before a write (see Admit). A breaker that
// can't be read lets nothing through.
func (b *Set) Consult(ctx context.Context, rem *v1alpha1.Remediation) (rollout.Gate, error) {
	asked, gate := b.askAll(ctx, rem)
	if err := b.saveAnswers(ctx, asked, rem, false); err != nil || gate.Closed {
		return gate, err
	}
	back, err := b.KeptBack(ctx, rem)
	gate.KeptBack = back
	return gate, err
}

// Admit asks the same of every breaker that covers a write in the namespaces, right
// before it. Half-open ones give their permit in their status, which is persisted
// before the answer.
func (b *Set) Admit(ctx context.Context, rem *v1alpha1.Remediation, namespaces map[string]bool) (rollout.Gate, error) {
	asked, gate := b.askAll(ctx, rem)
	if !gate.Closed {
		gate = keptBackIn(asked, namespaces)
	}
	if !gate.Closed && len(namespaces) > 0 {
		byNamespace, err := b.inNamespaces(ctx)
		if err != nil {
			return rollout.Gate{}, err
		}
		for _, namespace := range slices.Sorted(maps.Keys(byNamespace)) {
			if !namespaces[namespace] {
				continue
			}
			a := b.ask(ctx, byNamespace[namespace], rem)
			if !a.verdict.Allowed && !gate.Closed {
				gate = gateOf(a.verdict)
			}
			asked = append(asked, a)
		}
	}
	// A permit is taken only when every breaker lets the plan through; what was
	// observed is written down in any case.
	return gate, b.saveAnswers(ctx, asked, rem, !gate.Closed)
}

// keptBackIn is closed when one of the breakers lets nothing through in one of the namespaces.
func keptBackIn(asked []admission, namespaces map[string]bool) rollout.Gate {
	for _, a := range asked {
		if a.only != "" && namespaces[a.only] {
			return rollout.Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: a.refusal}
		}
	}
	return rollout.Gate{}
}

// askAll asks the breakers that cover the whole plan. Those that couldn't be read
// are in the answer, which is no, and not among those asked.
func (b *Set) askAll(ctx context.Context, rem *v1alpha1.Remediation) ([]admission, rollout.Gate) {
	var asked []admission
	gate := rollout.Gate{}
	for _, scope := range scopes(rem.Spec.Plan.Policy.Name) {
		cb, err := b.Ensure(ctx, scope)
		if err != nil {
			return nil, rollout.Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen,
				Message: "a circuit breaker can't be read, and counts as open: " + err.Error()}
		}
		a := b.ask(ctx, cb, rem)
		if !a.verdict.Allowed && !gate.Closed {
			gate = gateOf(a.verdict)
		}
		asked = append(asked, a)
	}
	return asked, gate
}

// saveAnswers persists answers, with the plan's permits when it takes them.
func (b *Set) saveAnswers(ctx context.Context, asked []admission, rem *v1alpha1.Remediation, take bool) error {
	for _, a := range asked {
		before := a.breaker.DeepCopy()
		a.breaker.Status = a.observed
		if take {
			a.breaker.Status = a.admitted
		}
		if err := b.write(ctx, before, a.breaker, rem); err != nil {
			return err
		}
	}
	return nil
}

// gateOf is a breaker's refusal as the machine reads it.
func gateOf(v circuit.Verdict) rollout.Gate {
	gate := rollout.Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: v.Message}
	if v.Reason == v1alpha1.ReasonSLOUnknown || v.Reason == v1alpha1.ReasonDemoted {
		gate.Reason = v.Reason
	}
	return gate
}

// permitFor is how long a probe may take: every wave within its deadline and soak.
func permitFor(rem *v1alpha1.Remediation) time.Duration {
	plan := &rem.Spec.Plan
	waves := time.Duration(len(plan.Waves) + 1)
	return waves * rollout.FlapFactor * (plan.Rollout.ProgressDeadline.Duration + plan.LongestSoak())
}

// Previewed is a breaker's answer to a plan that is only looked at, and the namespace
// that a refusal is for; empty for all. Nothing is persisted, so a half-open breaker's
// permit isn't taken.
func Previewed(policies Policies, cb *v1alpha1.RemediationBreaker, rem *v1alpha1.Remediation, now time.Time) (
	gate rollout.Gate, only string) {
	b := &Set{o: Options{Policies: policies}}
	st, v := circuit.Admit(cb, rem.Name, b.strategyFor(cb.Spec.Scope, rem), now, permitFor(rem))
	if v.Allowed && cb.Spec.Scope.Type == v1alpha1.BreakerScopePolicy {
		if demoted := circuit.Demotion(st, b.Revision(cb.Spec.Scope.Policy), now).Demoted; demoted != nil {
			v = circuit.Verdict{Reason: v1alpha1.ReasonDemoted, Message: demoted.Message}
		}
	}
	if v.Allowed {
		return rollout.Gate{}, ""
	}
	return gateOf(v), v.Only
}
