// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/breaker"
	"evenkeel.dev/evenkeel/internal/canary"
	"evenkeel.dev/evenkeel/internal/escalate"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/limits"
	"evenkeel.dev/evenkeel/internal/permissions"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
	"evenkeel.dev/evenkeel/internal/remediate/approval"
	"evenkeel.dev/evenkeel/internal/remediate/budget"
	"evenkeel.dev/evenkeel/internal/remediate/execute"
	"evenkeel.dev/evenkeel/internal/remediate/record"
	"evenkeel.dev/evenkeel/internal/seal"
)

// Options are what remediation needs from the rest of the manager.
type Options struct {
	// Policies is the catalog.
	Policies PolicyStatus
	// Findings is the scan's index.
	Findings Findings
	// Changes tells of policies whose findings have changed.
	Changes <-chan event.GenericEvent
	// Clock is the time.
	Clock clock.PassiveClock
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
	// Rollouts is how many plans are worked on at a time.
	Rollouts int
	// Analyzer answers the queries of metrics and of service level objectives; nil
	// when there is none, which holds the plans whose strategy names any.
	Analyzer Analyzer
	// Tools finds the tools that manage objects.
	Tools kube.Tools
	// SLO is the service level objective that the global breaker watches; nil for none.
	SLO *v1alpha1.SLOStrategy
	// Reach is what fixes may write.
	Reach limits.Reach
	// Floors is how careful every strategy must be at the least.
	Floors limits.Floors
	// Namespace is the manager's own: the key that proves its records lies there.
	Namespace string
}

// Register adds the rollout controller and the planner to the manager. Both run
// on the leader only.
func Register(mgr ctrl.Manager, o Options) error {
	recorder := escalate.NewRecorder(mgr.GetEventRecorder("evenkeel"))
	keys := &seal.Keeper{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: o.Namespace}
	reader, writer := seal.NewReader(mgr.GetAPIReader(), keys), seal.NewClient(mgr.GetClient(), keys)
	b := breaker.New(breaker.Options{Store: breaker.NewStore(mgr.GetAPIReader(), mgr.GetClient()),
		Cached:       breaker.NewReader(mgr.GetClient()),
		HasNamespace: breaker.NamespaceExists(mgr.GetAPIReader()), Policies: o.Policies, Findings: o.Findings,
		Analyzer: o.Analyzer,
		SLO:      o.SLO, Clock: o.Clock, Events: recorder, Metrics: o.Metrics})
	slices := record.NewCache(reader)
	room := budget.New(reader, slices, o.Floors)
	approvers := canary.Approvers{Distinct: o.Floors.DistinctApprover, SourcesReviewed: o.Floors.SourcesReviewed}
	rollout := &Controller{client: writer, reader: reader, policies: o.Policies, clock: o.Clock,
		events: recorder, breakers: b, records: slices, budgets: room, metrics: newMetrics(o.Metrics),
		analyzer: o.Analyzer, tools: o.Tools, landings: execute.NewLandings(), soaks: newSoakClock(), reach: o.Reach,
		answers: approval.NewReader(reader, o.Clock, approvers), floors: o.Floors,
		marks:       &seal.Marks{Reader: mgr.GetAPIReader(), Writer: mgr.GetClient(), Namespace: o.Namespace},
		permissions: &permissions.Finder{Asker: permissions.Own(mgr.GetClient()), Mapper: mgr.GetRESTMapper()}}
	if err := ctrl.NewControllerManagedBy(mgr).Named("remediation").
		For(&v1alpha1.Remediation{}).
		Watches(&v1alpha1.RemediationBreaker{}, handler.EnqueueRequestsFromMapFunc(rollout.heldPlans),
			builder.WithPredicates(gateChanges())).
		WatchesMetadata(&v1alpha1.RemediationSlice{}, handler.EnqueueRequestsFromMapFunc(planOfSlice),
			builder.WithPredicates(sliceComesOrGoes())).
		Watches(&v1alpha1.RemediationApproval{}, handler.EnqueueRequestsFromMapFunc(approval.PlanOf)).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(o.Rollouts, 1)}).
		Complete(rollout); err != nil {
		return err
	}
	if err := approval.Register(
		mgr, approval.Options{Reader: reader, Clock: o.Clock, Events: recorder, Metrics: o.Metrics,
			Approvers: approvers}); err != nil {
		return err
	}
	planner := &Planner{client: writer, doubt: doubtIn(mgr.GetAPIReader(), keys), status: o.Policies,
		findings: o.Findings, events: recorder, breakers: b, announced: newAnnouncements(),
		drafter: drafter{reader: reader, policies: o.Policies, clock: o.Clock, mapper: mgr.GetRESTMapper(),
			tools: o.Tools, reach: o.Reach, floors: o.Floors}}
	if err := ctrl.NewControllerManagedBy(mgr).Named("planner").
		For(&v1alpha1.ClusterRegoPolicy{}).
		Watches(&v1alpha1.RemediationStrategy{},
			handler.EnqueueRequestsFromMapFunc(strategy.Followers(mgr.GetClient())),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.Remediation{}, handler.EnqueueRequestsFromMapFunc(policyOf)).
		Watches(&v1alpha1.RemediationBreaker{}, handler.EnqueueRequestsFromMapFunc(policyOfBreaker),
			builder.WithPredicates(demotionChanges())).
		WatchesRawSource(source.Channel(o.Changes, &handler.EnqueueRequestForObject{})).
		Complete(planner); err != nil {
		return err
	}
	return breaker.Register(mgr, b)
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
