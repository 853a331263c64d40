// SPDX-License-Identifier: Apache-2.0

package breaker

import (
	"cmp"
	"context"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker/circuit"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/policy/catalog"
)

// namespacePoll is how often a namespace's breaker is looked at: is it idle? The deletion of its namespace is watched.
const namespacePoll = 10 * time.Minute

// endPoll is the longest that the end of a hold is waited for in one go: the clock may be set.
const endPoll = time.Minute

// Controller keeps the circuit breakers' status true while no plan asks
// them: time passes, people reset them or hold them open, violations rise, error
// budgets burn. It writes to no target.
type Controller struct {
	breakers *Set
}

// NewController makes the controller.
func NewController(b *Set) *Controller { return &Controller{breakers: b} }

// Register adds the controller to the manager. It runs on the leader only.
func (c *Controller) Register(mgr ctrl.Manager) error {
	if err := ctrl.NewControllerManagedBy(mgr).Named("breaker").
		For(&v1alpha1.RemediationBreaker{}).
		Watches(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(breakerOf),
			builder.WithPredicates(deletions())).
		Complete(c); err != nil {
		return err
	}
	// A RunnableFunc runs on the leader only.
	return mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		// The kill switch must be there before anybody needs it.
		if _, err := c.breakers.Ensure(ctx, GlobalScope()); err != nil {
			// Whoever needs it makes it then; the manager mustn't end for it.
			log.FromContext(ctx).Error(err, "the global circuit breaker isn't there yet")
		}
		return nil
	}))
}

// breakerOf is the breaker of a namespace, which goes with it.
func breakerOf(_ context.Context, namespace client.Object) []ctrl.Request {
	name := v1alpha1.NamespaceBreakerPrefix + namespace.GetName()
	return []ctrl.Request{{NamespacedName: client.ObjectKey{Name: name}}}
}

func deletions() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc:  func(event.CreateEvent) bool { return false },
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// Reconcile brings one breaker's status up to date.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	b := c.breakers
	if !b.o.Policies.Complete() {
		return ctrl.Result{RequeueAfter: catalog.Poll}, nil
	}
	cb, err := read(ctx, b.o.Client, request.Name)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			return ctrl.Result{}, err
		}
		return ctrl.Result{}, b.gone(ctx, request.Name)
	}
	if dropped, err := b.drop(ctx, cb); dropped || err != nil {
		return ctrl.Result{}, err
	}
	if err := b.refresh(ctx, cb); err != nil {
		if kube.Classify(err) == kube.Conflict {
			return ctrl.Result{RequeueAfter: kube.ConflictBackoff}, nil
		}
		return ctrl.Result{}, err
	}
	return ctrl.Result{RequeueAfter: b.poll(cb)}, b.gauge(ctx)
}

// gone is what the deletion of a breaker asks for. The kill switch must be there
// before anybody needs it.
func (b *Set) gone(ctx context.Context, breaker string) error {
	if policy, is := strings.CutPrefix(breaker, v1alpha1.PolicyBreakerPrefix); is {
		b.metrics.gone(policy)
	}
	if breaker == v1alpha1.GlobalBreakerName {
		if _, err := b.Ensure(ctx, GlobalScope()); err != nil {
			return err
		}
	} else if err := b.reviewGlobal(ctx, false); err != nil {
		return err
	}
	return b.gauge(ctx)
}

// refresh does what a person asks of a breaker, and observes the rest.
func (b *Set) refresh(ctx context.Context, cb *v1alpha1.RemediationBreaker) error {
	before := cb.DeepCopy()
	if st, asked := circuit.Reset(cb, b.o.Clock.Now()); asked {
		cb.Status = st
	}
	cb.Status = b.Observe(ctx, cb)
	cb.Status.Mode = modeOf(cb, b.o.Clock.Now())
	if err := b.write(ctx, before, cb, nil); err != nil {
		return err
	}
	switch cb.Spec.Scope.Type {
	case v1alpha1.BreakerScopePolicy:
		return b.reviewGlobal(ctx, cb.Status.State == v1alpha1.BreakerOpen)
	case v1alpha1.BreakerScopeGlobal:
		return b.tripGlobal(ctx, nil)
	case v1alpha1.BreakerScopeNamespace:
	}
	return nil
}

// modeOf is the breaker's mode at a time, with its default. One that isn't known is the
// kill switch; one that has ended by itself is Automatic.
func modeOf(cb *v1alpha1.RemediationBreaker, now time.Time) v1alpha1.BreakerMode {
	if cb.Spec.ForcedOpen(now) {
		return v1alpha1.BreakerForcedOpen
	}
	return v1alpha1.BreakerAutomatic
}

// drop deletes a breaker that is needed no more. One that a person holds open
// stays. One that isn't closed is closed first: nobody can delete it before, not
// even the manager.
func (b *Set) drop(ctx context.Context, cb *v1alpha1.RemediationBreaker) (bool, error) {
	needed, err := b.needed(ctx, cb)
	if needed || err != nil {
		return false, err
	}
	if now := b.o.Clock.Now(); !circuit.AtRest(cb, now) {
		before := cb.DeepCopy()
		cb.Status = circuit.Forgotten(cb)
		cb.Status.Mode = modeOf(cb, now)
		return true, b.write(ctx, before, cb, nil)
	}
	// What was written since it was read is news of it.
	err = b.o.Client.Delete(ctx, cb, client.Preconditions{UID: &cb.UID, ResourceVersion: &cb.ResourceVersion})
	if apierrors.IsConflict(err) {
		err = nil // that write is a change, and is looked at
	}
	return true, client.IgnoreNotFound(err)
}

// needed says whether a breaker still has something to stop, or to remember. A
// namespace's goes with its namespace, or when it has counted nothing for a day. A
// policy's that isn't closed outlives its policy for a while, so that a policy which
// is deleted and made anew finds it as it was.
func (b *Set) needed(ctx context.Context, cb *v1alpha1.RemediationBreaker) (bool, error) {
	switch scope := cb.Spec.Scope; {
	case cb.Spec.ForcedOpen(b.o.Clock.Now()):
	case scope.Type == v1alpha1.BreakerScopeNamespace:
		there, err := namespaceExists(ctx, b.o.Reader, scope.Namespace)
		return there && !circuit.Idle(cb, b.o.Clock.Now()), err
	case scope.Type == v1alpha1.BreakerScopePolicy:
		return b.o.Policies.Snapshot().Definition(scope.Policy) != nil || !circuit.Outlived(cb, b.o.Clock.Now()), nil
	}
	return true, nil // the global one, and what a person holds open
}

// poll is when to look at a breaker again by itself; zero when a change will say so.
func (b *Set) poll(cb *v1alpha1.RemediationBreaker) time.Duration {
	strategy := b.strategy(cb.Spec.Scope)
	wait := circuit.Due(&cb.Status, strategy, b.o.Clock.Now())
	sooner := func(d time.Duration) {
		wait = min(cmp.Or(wait, d), d)
	}
	switch cb.Spec.Scope.Type {
	case v1alpha1.BreakerScopePolicy:
		sooner(b.o.StormInterval)
	case v1alpha1.BreakerScopeNamespace:
		sooner(namespacePoll)
	case v1alpha1.BreakerScopeGlobal:
	}
	if strategy.SLO != nil {
		sooner(b.o.SLOInterval)
	}
	if now := b.o.Clock.Now(); cb.Spec.ForcedOpenUntilTime != nil && cb.Spec.ForcedOpen(now) {
		sooner(min(cb.Spec.ForcedOpenUntilTime.Sub(now), endPoll))
	}
	return wait
}

// gauge sets the figures of all breakers anew, so that they are right after a
// restart and after a deletion too.
func (b *Set) gauge(ctx context.Context) error {
	list, err := readAll(ctx, b.o.Client)
	if err != nil {
		return err
	}
	b.metrics.set(list, b.o.Clock.Now())
	return nil
}
