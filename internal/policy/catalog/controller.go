// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/strategy"
)

// syncer waits until the cache holds what the cluster holds; false when it can't.
type syncer interface {
	WaitForCacheSync(ctx context.Context) bool
}

// Controller keeps a Catalog in step with policies, their overrides, strategies and waivers. It runs on every replica,
// since every replica answers admission requests, and it only reads.
type Controller struct {
	catalog *Catalog
	reader  client.Reader
	cache   syncer
	// mu keeps the reading of a policy and its setting together: the first list
	// and an event of the same policy could else overtake each other.
	mu sync.Mutex
}

// NewController keeps the given catalog.
func NewController(c *Catalog) *Controller { return &Controller{catalog: c} }

// Register joins the manager: a reconciler of policies, one of templates, those of waivers
// of both kinds, and the runnable that completes the catalog after the first lists.
func (c *Controller) Register(mgr ctrl.Manager) error {
	c.reader, c.cache = mgr.GetClient(), mgr.GetCache()
	err := ctrl.NewControllerManagedBy(mgr).
		Named("policy-catalog").
		For(&v1alpha1.ClusterRegoPolicy{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(c)
	if err != nil {
		return fmt.Errorf("register the policy catalog's controller: %w", err)
	}
	for name, of := range map[string]struct {
		kind client.Object
		by   reconcile.Reconciler
	}{
		"template-catalog":      {&v1alpha1.RegoTemplate{}, templateReconciler{c}},
		"waiver-catalog":        {&v1alpha1.Waiver{}, waivers{c}},
		"clusterwaiver-catalog": {&v1alpha1.ClusterWaiver{}, waivers{c}},
		"override-catalog":      {&v1alpha1.PolicyOverride{}, overrideReconciler{c}},
	} {
		err = ctrl.NewControllerManagedBy(mgr).
			Named(name).
			For(of.kind).
			WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
			Complete(of.by)
		if err != nil {
			return fmt.Errorf("register the policy catalog's controller %s: %w", name, err)
		}
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("strategy-catalog").
		For(&v1alpha1.RemediationStrategy{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(strategyReconciler{c})
	if err != nil {
		return fmt.Errorf("register the policy catalog's controller of strategies: %w", err)
	}
	if err := mgr.Add(initialList{c}); err != nil {
		return fmt.Errorf("register the policy catalog's first list: %w", err)
	}
	return nil
}

// Reconcile brings one policy into the catalog or takes it out. A policy that
// doesn't compile isn't retried: only an edit fixes it.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, c.sync(ctx, request.Name)
}

func (c *Controller) sync(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var p v1alpha1.ClusterRegoPolicy
	err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &p)
	if apierrors.IsNotFound(err) {
		c.catalog.Delete(name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read policy %s: %w", name, err)
	}
	if named := strategy.Named(&p); named != "" {
		if err := c.syncStrategy(ctx, named); err != nil {
			return err
		}
	}
	if err := c.catalog.Set(&p); err != nil {
		logf.FromContext(ctx).Error(err, "policy isn't in force as written", "policy", name)
	}
	return nil
}

// strategyReconciler is the reconciler of strategies.
type strategyReconciler struct{ controller *Controller }

// Reconcile brings one strategy into the catalog or takes it out.
func (r strategyReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	r.controller.mu.Lock()
	defer r.controller.mu.Unlock()
	return ctrl.Result{}, r.controller.syncStrategy(ctx, request.Name)
}

// syncStrategy is called with mu held. A policy's strategy is read before the policy is set,
// so that none is thought to lack what is there.
func (c *Controller) syncStrategy(ctx context.Context, name string) error {
	var s v1alpha1.RemediationStrategy
	err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &s)
	if apierrors.IsNotFound(err) {
		return c.catalog.DeleteStrategy(name)
	}
	if err != nil {
		return fmt.Errorf("read strategy %s: %w", name, err)
	}
	return c.catalog.SetStrategy(&s)
}

// waivers is the reconciler of waivers of both kinds.
type waivers struct{ controller *Controller }

// Reconcile brings one waiver into the catalog or takes it out.
func (e waivers) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, e.controller.syncWaiver(ctx, request.NamespacedName)
}

func (c *Controller) syncWaiver(ctx context.Context, key types.NamespacedName) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := v1alpha1.NewWaiver(key.Namespace)
	err := c.reader.Get(ctx, key, w)
	if apierrors.IsNotFound(err) {
		c.catalog.DeleteWaiver(key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read waiver %s: %w", key, err)
	}
	if err := c.catalog.SetWaiver(w); err != nil {
		logf.FromContext(ctx).Error(err, "waiver waives nothing", "waiver", key)
	}
	return nil
}

// ListWaivers lists the waivers of both kinds.
func ListWaivers(ctx context.Context, reader client.Reader) ([]v1alpha1.AnyWaiver, error) {
	var namespaced v1alpha1.WaiverList
	if err := reader.List(ctx, &namespaced); err != nil {
		return nil, fmt.Errorf("list waivers: %w", err)
	}
	var wide v1alpha1.ClusterWaiverList
	if err := reader.List(ctx, &wide); err != nil {
		return nil, fmt.Errorf("list cluster waivers: %w", err)
	}
	all := make([]v1alpha1.AnyWaiver, 0, len(namespaced.Items)+len(wide.Items))
	for i := range wide.Items {
		all = append(all, &wide.Items[i])
	}
	for i := range namespaced.Items {
		all = append(all, &namespaced.Items[i])
	}
	return all, nil
}
