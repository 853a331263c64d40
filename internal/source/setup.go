// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/source/access"
)

// Options are what sources need from the rest of the manager.
type Options struct {
	// Fetcher reads the repositories.
	Fetcher Fetcher
	// Allowed are the namespaces whose sources are accepted.
	Allowed access.Namespaces
	// ServiceAccount is the manager's own, <namespace>:<name>, for messages.
	ServiceAccount string
	// Workers is how many sources are looked at a time: a slow repository holds up
	// one of them.
	Workers int
	// Clock is the time.
	Clock clock.PassiveClock
	// Metrics is where the figures are registered.
	Metrics prometheus.Registerer
}

// NewController makes the controller of policy sources.
func NewController(o Options) *Controller {
	return &Controller{options: o, fetcher: o.Fetcher, contents: newContentCache(), allowed: o.Allowed, clock: o.Clock}
}

// Register adds the controller to the manager. It runs on the leader only.
func (c *Controller) Register(mgr ctrl.Manager) (err error) {
	if c.metrics, err = newMetrics(c.options.Metrics, mgr.GetClient()); err != nil {
		return err
	}
	c.client, c.reader, c.events = mgr.GetClient(), mgr.GetAPIReader(), mgr.GetEventRecorder("evenkeel-source")
	c.secrets = access.Secrets{Reader: c.reader, Account: c.options.ServiceAccount}
	err = ctrl.NewControllerManagedBy(mgr).Named("policy-source").
		For(&v1alpha1.PolicySource{},
			builder.WithPredicates(
				predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{},
					deleting()))).
		Watches(&v1alpha1.ClusterRegoPolicy{}, handler.EnqueueRequestsFromMapFunc(c.sourcesOf),
			builder.WithPredicates(contentChanges())).
		Watches(&v1alpha1.RemediationStrategy{}, handler.EnqueueRequestsFromMapFunc(c.sourcesOf),
			builder.WithPredicates(contentChanges())).
		WithOptions(controller.Options{MaxConcurrentReconciles: max(c.options.Workers, 1)}).
		Complete(c)
	if err != nil {
		return fmt.Errorf("register the controller of policy sources: %w", err)
	}
	return nil
}

// sourcesOf are the sources that a policy or strategy concerns: the one that its labels name,
// and those that wait for one to be theirs.
func (c *Controller) sourcesOf(ctx context.Context, policy client.Object) []ctrl.Request {
	wanted := map[types.NamespacedName]bool{}
	if o, owned := namedBy(policy.GetLabels()); owned {
		wanted[types.NamespacedName{Namespace: o.namespace, Name: o.name}] = true
	}
	list := &v1alpha1.PolicySourceList{}
	if err := c.client.List(ctx, list); err == nil {
		for i := range list.Items {
			src := &list.Items[i]
			if waitsFor(src, policy.GetName()) {
				wanted[client.ObjectKeyFromObject(src)] = true
			}
		}
	}
	var requests []ctrl.Request
	for key := range maps.Keys(wanted) {
		requests = append(requests, ctrl.Request{NamespacedName: key})
	}
	return requests
}

// waitsFor says that the source held a policy of that name, or waits for one that
// isn't its own.
func waitsFor(src *v1alpha1.PolicySource, name string) bool {
	if slices.Contains(src.Status.Inventory, name) {
		return true
	}
	ready := meta.FindStatusCondition(src.Status.Conditions, v1alpha1.ConditionReady)
	return ready != nil && ready.Reason == v1alpha1.ReasonPolicyConflict
}

func deleting() predicate.Predicate {
	return predicate.NewPredicateFuncs(func(o client.Object) bool { return o.GetDeletionTimestamp() != nil })
}

// contentChanges lets through what changes a policy or strategy but its status, which others
// write often.
func contentChanges() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() ||
				!maps.Equal(e.ObjectOld.GetLabels(), e.ObjectNew.GetLabels()) ||
				!maps.Equal(e.ObjectOld.GetAnnotations(), e.ObjectNew.GetAnnotations())
		},
	}
}
