// SPDX-License-Identifier: Apache-2.0

package strategy

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// conflictBackoff is when to look again at an object that somebody else has just written.
const conflictBackoff = 200 * time.Millisecond

// Controller writes the status of each RemediationStrategy. It decides nothing by it.
type Controller struct{ o Options }

// Options are what the status of strategies needs.
type Options struct {
	// Client reads strategies and the policies that refer to them, and writes the status.
	Client client.Client
	// Clock is the time.
	Clock clock.PassiveClock
}

// NewController makes the controller of strategies' status.
func NewController(o Options) *Controller { return &Controller{o} }

// Register joins the manager. A policy that comes, goes or changes concerns the strategy
// that it refers to, and the one that it has referred to before.
func (c *Controller) Register(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).
		Named("strategy-status").
		For(&v1alpha1.RemediationStrategy{}).
		Watches(&v1alpha1.ClusterRegoPolicy{}, handler.EnqueueRequestsFromMapFunc(namedBy),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Complete(c)
	if err != nil {
		return fmt.Errorf("set up the strategy status controller: %w", err)
	}
	return nil
}

func namedBy(_ context.Context, obj client.Object) []ctrl.Request {
	p, ok := obj.(*v1alpha1.ClusterRegoPolicy)
	if !ok {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Name: Named(p)}}}
}

// Reconcile brings one strategy's status up to date.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	s, err := Read(ctx, c.o.Client, request.Name)
	if s == nil || err != nil {
		return ctrl.Result{}, err
	}
	list := &v1alpha1.ClusterRegoPolicyList{}
	if err := c.o.Client.List(ctx, list); err != nil {
		return ctrl.Result{}, fmt.Errorf("list the policies that follow RemediationStrategy %s: %w", s.Name, err)
	}
	followers := 0
	for i := range list.Items {
		if Named(&list.Items[i]) == s.Name {
			followers++
		}
	}
	status := kube.NewStatusWriter(c.o.Client, s)
	setStatus(s, followers, c.o.Clock.Now())
	err = status.Write(ctx, s, v1alpha1.FieldManager)
	if kube.Classify(err) == kube.Conflict {
		return ctrl.Result{RequeueAfter: conflictBackoff}, nil
	}
	return ctrl.Result{}, client.IgnoreNotFound(err)
}

func setStatus(s *v1alpha1.RemediationStrategy, followers int, now time.Time) {
	s.Status.Policies = int32(followers)
	if s.DeletionTimestamp != nil {
		s.Status.InForce = nil
		kube.SetConditions(s, now, kube.Underway(v1alpha1.ReasonDeleting,
			"it is being deleted, so the policies that refer to it remediate nothing: recreate it once it is gone, "+
				"or name another")...)
		return
	}
	if why := Wrong(s); why != "" {
		s.Status.InForce = nil
		kube.SetConditions(s, now, kube.Stalled(v1alpha1.ReasonInvalid,
			fmt.Sprintf("it can't be followed, so the policies that refer to it remediate nothing: %s: correct it",
				why))...)
		return
	}
	s.Status.InForce = inForce(s)
	kube.SetConditions(s, now, conditions()...)
}

func conditions() []metav1.Condition {
	return kube.Ready(v1alpha1.ReasonAccepted, "plans that are made from now on are rolled out by it; those that are "+
		"made already keep the strategy of their time")
}

// inForce tells the strategy, with its defaults, to whoever reads a table.
func inForce(s *v1alpha1.RemediationStrategy) *v1alpha1.StrategyInForce {
	spec := s.Spec.DeepCopy()
	spec.SetDefaults()
	var steps, soaks []string
	for _, step := range spec.Steps {
		steps, soaks = append(steps, step.Targets.String()), append(soaks, step.Soak.Duration.String())
	}
	return &v1alpha1.StrategyInForce{Steps: strings.Join(steps, ", "), Soak: strings.Join(soaks, ", "),
		OnFailure: spec.OnFailure}
}
