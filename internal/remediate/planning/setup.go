// SPDX-License-Identifier: Apache-2.0

package planning

import (
	"cmp"
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/events"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// Options are what planning needs from the rest of the manager.
type Options struct {
	// Reader reads past every cache.
	Reader client.Reader
	// Writer writes plans.
	Writer client.Client
	// Policies is the catalog.
	Policies PolicyStatus
	// Findings is the scan's index.
	Findings breaker.Findings
	// Changes tells of policies whose findings have changed.
	Changes <-chan event.GenericEvent
	// Clock is the time.
	Clock clock.PassiveClock
	// Events tells people what is planned, and what isn't.
	Events *events.Recorder
	// Interval is how often violations that can't be planned are looked at again. Default: DefaultInterval.
	Interval time.Duration
	// Delay is how long after a plan's end its policy isn't planned again. Default: DefaultDelay.
	Delay time.Duration
	// Breakers are asked what a policy may do.
	Breakers *breaker.Set
	// Tools finds the tools that manage objects.
	Tools kube.Tools
	// Reach is what fixes may write.
	Reach limits.Reach
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
}

// NewPlanner makes the planner.
func NewPlanner(o Options) *Planner {
	return &Planner{client: o.Writer, status: o.Policies, findings: o.Findings, events: o.Events,
		changes: o.Changes, breakers: o.Breakers, announced: newAnnouncements(),
		interval: cmp.Or(o.Interval, DefaultInterval), delay: cmp.Or(o.Delay, DefaultDelay),
		drafter: drafter{reader: o.Reader, policies: o.Policies, clock: o.Clock,
			tools: o.Tools, reach: o.Reach, floors: o.Floors}}
}

// Register adds the planner to the manager. It runs on the leader only.
func (p *Planner) Register(mgr ctrl.Manager) error {
	p.mapper = mgr.GetRESTMapper()
	return ctrl.NewControllerManagedBy(mgr).Named("planner").
		For(&v1alpha1.ClusterRegoPolicy{}).
		Watches(&v1alpha1.RemediationStrategy{},
			handler.EnqueueRequestsFromMapFunc(strategy.Followers(mgr.GetClient())),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Remediation{}, handler.EnqueueRequestsFromMapFunc(policyOf)).
		Watches(&v1alpha1.RemediationBreaker{}, handler.EnqueueRequestsFromMapFunc(policyOfBreaker),
			builder.WithPredicates(demotionChanges())).
		WatchesRawSource(source.Channel(p.changes, &handler.EnqueueRequestForObject{})).
		Complete(p)
}

func policyOf(_ context.Context, obj client.Object) []ctrl.Request {
	policyName := obj.GetLabels()[v1alpha1.LabelPolicy]
	if policyName == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: policyName}}}
}

func policyOfBreaker(_ context.Context, obj client.Object) []ctrl.Request {
	cb, ok := obj.(*v1alpha1.RemediationBreaker)
	if !ok || cb.Spec.Scope.Type != v1alpha1.BreakerScopePolicy {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: cb.Spec.Scope.Policy}}}
}

// demotionChanges lets through what changes how a policy is planned.
func demotionChanges() predicate.Predicate {
	demoted := func(o client.Object) bool {
		cb, ok := o.(*v1alpha1.RemediationBreaker)
		return ok && cb.Status.Demoted != nil
	}
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool { return demoted(e.ObjectOld) != demoted(e.ObjectNew) },
		DeleteFunc: func(e event.DeleteEvent) bool { return demoted(e.Object) },
	}
}
