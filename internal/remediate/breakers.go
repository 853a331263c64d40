package remediate

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/internal/kube"
)

// maxCounted bounds how many targets of one outcome a breaker counts: it
// remembers that many keys, so that none is counted twice after a crash.
const maxCounted = 32

// breakers asks and feeds the circuit breakers that cover a plan.
type breakers struct {
	reader  client.Reader
	client  client.Client
	clock   clock.PassiveClock
	events  *escalate.Recorder
	metrics *breakerMetrics
}

// admit asks the breakers whether the plan may write now. Half-open breakers
// give their permit in their status, which is persisted before the answer. A
// breaker that can't be read lets nothing through.
func (b *breakers) admit(ctx context.Context, rem *v1alpha1.Remediation) (Gate, error) {
	var asked []admission
	gate := Gate{}
	for _, scope := range scopes(rem.Spec.Policy.Name) {
		cb, err := b.ensure(ctx, scope)
		if err != nil {
			return Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen,
				Message: "a circuit breaker can't be read, and counts as open: " + err.Error()}, nil
		}
		strategy := strategyOf(cb, rem)
		admitted, verdict := canary.Admit(cb, rem.Name, strategy, b.clock.Now(), permitFor(rem))
		if !verdict.Allowed && !gate.Closed {
			gate = Gate{Closed: true, Reason: v1alpha1.ReasonBreakerOpen, Message: verdict.Message}
		}
		asked = append(asked, admission{breaker: cb, admitted: admitted, ticked: canary.Tick(cb.Status, strategy, b.clock.Now())})
	}
	for _, a := range asked {
		before := a.breaker.DeepCopy()
		// A permit is taken only when every breaker lets the plan through; that
		// time has passed is written down in any case.
		a.breaker.Status = a.ticked
		if !gate.Closed {
			a.breaker.Status = a.admitted
		}
		if err := b.write(ctx, before, a.breaker, rem); err != nil {
			return Gate{}, err
		}
	}
	return gate, nil
}

// admission is one breaker's answer to a plan.
type admission struct {
	breaker          *v1alpha1.CircuitBreaker
	admitted, ticked v1alpha1.CircuitBreakerStatus
}

// record counts a plan's outcomes in every breaker that covers it. Doing it
// again after a crash counts nothing twice.
func (b *breakers) record(ctx context.Context, rem *v1alpha1.Remediation, outcomes []Outcome) error {
	if len(outcomes) == 0 {
		return nil
	}
	for _, scope := range scopes(rem.Spec.Policy.Name) {
		if err := b.update(ctx, scope, rem, func(cb *v1alpha1.CircuitBreaker) {
			for _, e := range events(rem, outcomes) {
				if scope.Type == v1alpha1.BreakerScopeGlobal {
					e = e.ForShared()
				}
				cb.Status = canary.Next(cb.Status, e, strategyOf(cb, rem), b.clock.Now())
			}
		}); err != nil {
			return err
		}
	}
	return b.tripGlobal(ctx, rem)
}

// release gives back the permit of a plan that ended without an outcome.
func (b *breakers) release(ctx context.Context, rem *v1alpha1.Remediation) error {
	for _, scope := range scopes(rem.Spec.Policy.Name) {
		if err := b.update(ctx, scope, rem, func(cb *v1alpha1.CircuitBreaker) {
			cb.Status = canary.Release(cb.Status, rem.Name)
		}); err != nil {
			return err
		}
	}
	return nil
}

// tripGlobal opens the global breaker when enough policies' breakers are open.
func (b *breakers) tripGlobal(ctx context.Context, rem *v1alpha1.Remediation) error {
	list := &v1alpha1.CircuitBreakerList{}
	if err := b.reader.List(ctx, list); err != nil {
		return fmt.Errorf("list circuit breakers: %w", err)
	}
	open := 0
	for _, cb := range list.Items {
		// Time alone may have turned it half-open since it was last written.
		state := canary.Tick(cb.Status, rem.Spec.Strategy.Breaker, b.clock.Now()).State
		if cb.Spec.Scope.Type == v1alpha1.BreakerScopePolicy && state == v1alpha1.BreakerOpen {
			open++
		}
	}
	if !canary.TripGlobal(open) {
		return nil
	}
	return b.update(ctx, scopes("")[0], rem, func(cb *v1alpha1.CircuitBreaker) {
		cb.Status = canary.Open(cb.Status, canary.ReasonPolicyBreakersOpen, canary.MessagePolicyBreakersOpen(open), strategyOf(cb, rem), b.clock.Now())
	})
}

func (b *breakers) update(ctx context.Context, scope v1alpha1.BreakerScope, rem *v1alpha1.Remediation, change func(*v1alpha1.CircuitBreaker)) error {
	cb, err := b.ensure(ctx, scope)
	if err != nil {
		return err
	}
	before := cb.DeepCopy()
	change(cb)
	return b.write(ctx, before, cb, rem)
}

// write persists a breaker's status when it has changed, and says so when the
// breaker opened or closed.
func (b *breakers) write(ctx context.Context, before client.Object, cb *v1alpha1.CircuitBreaker, rem *v1alpha1.Remediation) error {
	b.condition(cb)
	if err := kube.NewStatusWriter(b.client, before).Write(ctx, cb, v1alpha1.FieldManager); err != nil {
		return err
	}
	was, is := before.(*v1alpha1.CircuitBreaker).Status.State, cb.Status.State
	b.metrics.breaker(cb, was)
	switch {
	case is == v1alpha1.BreakerOpen && was != is:
		b.events.Breaker(cb, rem, escalate.ReasonBreakerOpened, cb.Status.Message)
	case is == v1alpha1.BreakerClosed && was != is && was != "":
		b.events.Breaker(cb, rem, escalate.ReasonBreakerClosed, cb.Status.Message)
	}
	return nil
}

func (b *breakers) condition(cb *v1alpha1.CircuitBreaker) {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: cb.Generation,
		Reason: string(v1alpha1.BreakerClosed), Message: cb.Status.Message, LastTransitionTime: metav1.NewTime(b.clock.Now())}
	if cb.Status.State != v1alpha1.BreakerClosed && cb.Status.State != "" {
		ready.Status, ready.Reason = metav1.ConditionFalse, string(cb.Status.State)
	}
	meta.SetStatusCondition(&cb.Status.Conditions, ready)
}

// ensure reads a breaker anew, and makes it when there is none.
func (b *breakers) ensure(ctx context.Context, scope v1alpha1.BreakerScope) (*v1alpha1.CircuitBreaker, error) {
	cb := &v1alpha1.CircuitBreaker{}
	key := client.ObjectKey{Name: breakerName(scope)}
	err := b.reader.Get(ctx, key, cb)
	if !apierrors.IsNotFound(err) {
		return cb, err
	}
	cb = &v1alpha1.CircuitBreaker{ObjectMeta: metav1.ObjectMeta{Name: key.Name}, Spec: v1alpha1.CircuitBreakerSpec{Scope: scope}}
	if scope.Policy != "" {
		cb.Labels = map[string]string{v1alpha1.LabelPolicy: scope.Policy}
	}
	if err := b.client.Create(ctx, cb, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return nil, fmt.Errorf("make circuit breaker %s: %w", key.Name, err)
	}
	return cb, nil
}

// scopes are the breakers that cover a policy's plans; the first is the global one.
func scopes(policy string) []v1alpha1.BreakerScope {
	return []v1alpha1.BreakerScope{
		{Type: v1alpha1.BreakerScopeGlobal},
		{Type: v1alpha1.BreakerScopePolicy, Policy: policy},
	}
}

func breakerName(s v1alpha1.BreakerScope) string {
	if s.Type == v1alpha1.BreakerScopeGlobal {
		return v1alpha1.GlobalBreakerName
	}
	return v1alpha1.PolicyBreakerPrefix + s.Policy
}

// strategyOf is the policy's own breaker strategy; the global breaker has the defaults.
func strategyOf(cb *v1alpha1.CircuitBreaker, rem *v1alpha1.Remediation) v1alpha1.BreakerStrategy {
	if cb.Spec.Scope.Type == v1alpha1.BreakerScopePolicy {
		return rem.Spec.Strategy.Breaker
	}
	var s v1alpha1.BreakerStrategy
	s.SetDefaults()
	return s
}

// permitFor is how long a probe may take: every wave within its deadline and soak.
func permitFor(rem *v1alpha1.Remediation) time.Duration {
	s := rem.Spec.Strategy
	return time.Duration(len(rem.Spec.Waves)+1) * flapFactor * (s.ProgressDeadline.Duration + s.Soak.Duration)
}

func events(rem *v1alpha1.Remediation, outcomes []Outcome) []canary.Event {
	types := map[OutcomeType]canary.EventType{
		OutcomeSucceeded: canary.TargetSucceeded, OutcomeFailed: canary.TargetFailed,
		OutcomeCanaryFailed: canary.CanaryFailed, OutcomePlanSucceeded: canary.PlanSucceeded, OutcomePlanFailed: canary.PlanFailed,
	}
	var list []canary.Event
	for _, o := range outcomes {
		for i := range min(o.Count, maxCounted) {
			list = append(list, canary.Event{Type: types[o.Type], Remediation: rem.Name, Key: fmt.Sprintf("%s/%d", o.Key, i)})
		}
	}
	return list
}
