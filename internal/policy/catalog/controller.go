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
	for name, of := range map[string]struct {
		kind client.Object
		sync func(context.Context, types.NamespacedName) error
	}{
		"policy-catalog":        {&v1alpha1.ClusterRegoPolicy{}, c.syncPolicy},
		"template-catalog":      {&v1alpha1.RegoTemplate{}, c.syncTemplate},
		"strategy-catalog":      {&v1alpha1.RemediationStrategy{}, c.syncStrategy},
		"waiver-catalog":        {&v1alpha1.Waiver{}, c.syncWaiver},
		"clusterwaiver-catalog": {&v1alpha1.ClusterWaiver{}, c.syncWaiver},
		"override-catalog":      {&v1alpha1.PolicyOverride{}, c.syncOverride},
	} {
		err := ctrl.NewControllerManagedBy(mgr).
			Named(name).
			For(of.kind).
			WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
			Complete(reconcile.Func(func(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
				return ctrl.Result{}, c.locked(ctx, of.sync, request.NamespacedName)
			}))
		if err != nil {
			return fmt.Errorf("register the policy catalog's controller %s: %w", name, err)
		}
	}
	if err := mgr.Add(initialList{c}); err != nil {
		return fmt.Errorf("register the policy catalog's first list: %w", err)
	}
	return nil
}

// locked brings one object into the catalog or takes it out, with mu held.
func (c *Controller) locked(ctx context.Context, sync func(context.Context, types.NamespacedName) error,
	key types.NamespacedName) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return sync(ctx, key)
}

// syncPolicy reports no error for a policy that doesn't compile: only an edit fixes it. The policy's strategy is read
// before the policy is set, so that none is thought to lack what is there.
func (c *Controller) syncPolicy(ctx context.Context, key types.NamespacedName) error {
	var p v1alpha1.ClusterRegoPolicy
	err := c.reader.Get(ctx, key, &p)
	if apierrors.IsNotFound(err) {
		c.catalog.Delete(key.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read policy %s: %w", key.Name, err)
	}
	if named := strategy.Named(&p); named != "" {
		if err := c.syncStrategy(ctx, types.NamespacedName{Name: named}); err != nil {
			return err
		}
	}
	if err := c.catalog.Set(&p); err != nil {
		logf.FromContext(ctx).Error(err, "policy isn't in force as written", "policy", key.Name)
	}
	return nil
}

func (c *Controller) syncTemplate(ctx context.Context, key types.NamespacedName) error {
	var t v1alpha1.RegoTemplate
	err := c.reader.Get(ctx, key, &t)
	if apierrors.IsNotFound(err) {
		c.catalog.DeleteTemplate(key.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read RegoTemplate %s: %w", key.Name, err)
	}
	if err := c.catalog.SetTemplate(&t); err != nil {
		logf.FromContext(ctx).Error(err, "template can't be used as written", "template", key.Name)
	}
	return nil
}

func (c *Controller) syncStrategy(ctx context.Context, key types.NamespacedName) error {
	var s v1alpha1.RemediationStrategy
	err := c.reader.Get(ctx, key, &s)
	if apierrors.IsNotFound(err) {
		return c.catalog.DeleteStrategy(key.Name)
	}
	if err != nil {
		return fmt.Errorf("read strategy %s: %w", key.Name, err)
	}
	return c.catalog.SetStrategy(&s)
}

func (c *Controller) syncWaiver(ctx context.Context, key types.NamespacedName) error {
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

func (c *Controller) syncOverride(ctx context.Context, key types.NamespacedName) error {
	var o v1alpha1.PolicyOverride
	err := c.reader.Get(ctx, key, &o)
	if apierrors.IsNotFound(err) {
		c.catalog.DeleteOverride(key.Name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read PolicyOverride %s: %w", key.Name, err)
	}
	c.catalog.SetOverride(&o)
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
