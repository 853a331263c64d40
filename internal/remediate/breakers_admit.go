package remediate

import (
	"context"
	"slices"
	"time"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
)

// admission is one breaker's answer to a plan.
type admission struct {
	breaker *v1alpha1.CircuitBreaker
	// observed is its status as it is now, admitted that with the plan's permit.
	observed, admitted v1alpha1.CircuitBreakerStatus
	verdict            canary.Verdict
}

// ask asks one breaker whether a plan may write now. Nothing is persisted.
func (b *breakers) ask(ctx context.Context, cb *v1alpha1.CircuitBreaker, rem *v1alpha1.Remediation) admission {
	a := admission{breaker: cb, observed: b.observe(ctx, cb)}
	strategy, now := b.strategy(cb.Spec.Scope), b.clock.Now()
	seen := cb.DeepCopy()
	seen.Status = a.observed
	a.admitted, a.verdict = canary.Admit(seen, rem.Name, strategy, now, permitFor(rem))
	if demoted := a.observed.Demoted; a.verdict.Allowed && demoted != nil {
		a.verdict = canary.Verdict{Reason: v1alpha1.ReasonDemoted, Message: demoted.Message}
	}
	if a.verdict.Allowed {
		if gate := canary.SLOGate(cb.Name, &a.observed, strategy, now); !gate.Allowed {
			a.verdict = gate
		}
	}
	return a
}

// admit asks the breakers that cover the whole plan whether it may write now.
// Half-open breakers give their permit in their status, which is persisted before
// the answer. A breaker that can't be read lets nothing through.
func (b *breakers) admit(ctx context.Context, rem *v1alpha1.Remediation) (Gate, error) {
	var asked []admission
	gate := Gate{}
	for _, scope := range scopes(rem.Spec.Policy.Name) {
		cb, err := b.ensure(ctx, scope)
		if err != nil {
			return Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen,
				Message: "a circuit breaker can't be read, and counts as open: " + err.Error()}, nil
		}
		a := b.ask(ctx, cb, rem)
		if !a.verdict.Allowed && !gate.Closed {
			gate = gateOf(a.verdict)
		}
		asked = append(asked, a)
	}
	for _, a := range asked {
		// A permit is taken only when every breaker lets the plan through; what was
		// observed is written down in any case.
		if err := b.settle(ctx, a, rem, !gate.Closed); err != nil {
			return Gate{}, err
		}
	}
	return gate, nil
}

// settle persists an answer, with the plan's permit when it takes it.
func (b *breakers) settle(ctx context.Context, a admission, rem *v1alpha1.Remediation, take bool) error {
	before := a.breaker.DeepCopy()
	a.breaker.Status = a.observed
	if take {
		a.breaker.Status = a.admitted
	}
	return b.write(ctx, before, a.breaker, rem)
}

// gateOf is a breaker's refusal as the machine reads it.
func gateOf(v canary.Verdict) Gate {
	gate := Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: v.Message}
	if v.Reason == v1alpha1.ReasonSLOUnknown || v.Reason == v1alpha1.ReasonDemoted {
		gate.Reason = v.Reason
	}
	return gate
}

// bar keeps back the targets whose namespace's breaker isn't closed. A half-open
// one gives the plan its permit once a target of the wave at work lives there, and
// not before: a plan may take days to come to a namespace. Nothing is asked while
// the gate is closed, for then nothing begins anywhere.
func (b *breakers) bar(ctx context.Context, rem *v1alpha1.Remediation, o *Observation) error {
	here, later := o.unbegun()
	if o.Stop != "" || o.Gate.Closed || !o.Spec.Strategy.Mode.Runs() || len(here)+len(later) == 0 {
		return nil
	}
	byNamespace, err := b.inNamespaces(ctx)
	if err != nil {
		return err
	}
	for namespace, cb := range byNamespace {
		targets := slices.Concat(here[namespace], later[namespace])
		if len(targets) == 0 {
			continue
		}
		a := b.ask(ctx, cb, rem)
		if err := b.settle(ctx, a, rem, a.verdict.Allowed && len(here[namespace]) > 0); err != nil {
			return err
		}
		o.bar(targets, a.verdict)
	}
	return nil
}

// bar keeps targets back unless the verdict lets them be begun.
func (o *Observation) bar(targets []int, v canary.Verdict) {
	if v.Allowed {
		return
	}
	for _, i := range targets {
		o.Targets[i].Barred = v.Message
	}
}

// unbegun are the targets still to be begun, by namespace: those of the wave at
// work, and those of later ones.
func (o Observation) unbegun() (here, later map[string][]int) {
	here, later = map[string][]int{}, map[string][]int{}
	for i, t := range o.Targets {
		switch {
		case t.State != v1alpha1.TargetPending || t.Object.Namespace == "":
		case t.Wave == o.Status.Wave:
			here[t.Object.Namespace] = append(here[t.Object.Namespace], i)
		default:
			later[t.Object.Namespace] = append(later[t.Object.Namespace], i)
		}
	}
	return here, later
}

// release gives back every permit that a plan holds. It reads the breakers that
// are there and makes none: a breaker is born by what is observed of it.
func (b *breakers) release(ctx context.Context, rem *v1alpha1.Remediation) error {
	return b.releaseWhere(ctx, rem, func(v1alpha1.BreakerScope) bool { return true })
}

// releaseNamespaces gives back the permits of namespaces in which the plan has
// proved nothing.
func (b *breakers) releaseNamespaces(ctx context.Context, rem *v1alpha1.Remediation) error {
	return b.releaseWhere(ctx, rem, func(s v1alpha1.BreakerScope) bool { return s.Type == v1alpha1.BreakerScopeNamespace })
}

func (b *breakers) releaseWhere(ctx context.Context, rem *v1alpha1.Remediation, where func(v1alpha1.BreakerScope) bool) error {
	list, err := b.store.list(ctx)
	if err != nil {
		return err
	}
	for i := range list {
		cb := &list[i]
		if !where(cb.Spec.Scope) || !canary.Holds(cb.Status, rem.Name) {
			continue
		}
		before := cb.DeepCopy()
		cb.Status = canary.Release(cb.Status, rem.Name)
		if err := b.write(ctx, before, cb, rem); err != nil {
			return err
		}
	}
	return nil
}

// permitFor is how long a probe may take: every wave within its deadline and soak.
func permitFor(rem *v1alpha1.Remediation) time.Duration {
	s := rem.Spec.Strategy
	return time.Duration(len(rem.Spec.Waves)+1) * flapFactor * (s.ProgressDeadline.Duration + s.Soak.Duration)
}
