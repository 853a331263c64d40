package catalog

import (
	"context"
	"errors"
	"fmt"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// syncer waits until the cache holds what the cluster holds; false when it can't.
type syncer interface {
	WaitForCacheSync(ctx context.Context) bool
}

// Controller keeps a Catalog in step with the Policy and PolicyException objects.
// It runs on every
// replica, since every replica answers admission requests, and it only reads.
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

// Register joins the manager: a reconciler of Policy objects, one of
// PolicyExceptions, and the runnable that completes the catalog after the first
// lists.
func (c *Controller) Register(mgr ctrl.Manager) error {
	c.reader, c.cache = mgr.GetClient(), mgr.GetCache()
	err := ctrl.NewControllerManagedBy(mgr).
		Named("policy-catalog").
		For(&v1alpha1.Policy{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(c)
	if err != nil {
		return fmt.Errorf("register the policy catalog's controller: %w", err)
	}
	err = ctrl.NewControllerManagedBy(mgr).
		Named("exception-catalog").
		For(&v1alpha1.PolicyException{}).
		WithOptions(controller.Options{NeedLeaderElection: ptr.To(false)}).
		Complete(exceptions{c})
	if err != nil {
		return fmt.Errorf("register the policy catalog's controller of exceptions: %w", err)
	}
	if err := mgr.Add(initialList{c}); err != nil {
		return fmt.Errorf("register the policy catalog's first list: %w", err)
	}
	return nil
}

// Reconcile brings one policy into the catalog or takes it out. A policy that
// doesn't compile isn't retried: only an edit mends it.
func (c *Controller) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, c.sync(ctx, request.Name)
}

func (c *Controller) sync(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var p v1alpha1.Policy
	err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &p)
	if apierrors.IsNotFound(err) {
		c.catalog.Delete(name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read policy %s: %w", name, err)
	}
	if err := c.catalog.Set(&p); err != nil {
		logf.FromContext(ctx).Error(err, "policy isn't in force as written", "policy", name)
	}
	return nil
}

// exceptions is the reconciler of PolicyException objects.
type exceptions struct{ controller *Controller }

// Reconcile brings one exception into the catalog or takes it out.
func (e exceptions) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, e.controller.syncException(ctx, request.NamespacedName)
}

func (c *Controller) syncException(ctx context.Context, key types.NamespacedName) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var e v1alpha1.PolicyException
	err := c.reader.Get(ctx, key, &e)
	if apierrors.IsNotFound(err) {
		c.catalog.DeleteException(key)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read policy exception %s: %w", key, err)
	}
	if err := c.catalog.SetException(&e); err != nil {
		logf.FromContext(ctx).Error(err, "policy exception waives nothing", "exception", key)
	}
	return nil
}

// initialList completes the catalog once every policy and exception of the first
// lists is set.
type initialList struct{ controller *Controller }

// NeedLeaderElection is false: every replica needs the policies.
func (initialList) NeedLeaderElection() bool { return false }

// Start waits for the cache, sets each policy and exception in it and marks the
// catalog complete.
func (l initialList) Start(ctx context.Context) error {
	c := l.controller
	if !c.cache.WaitForCacheSync(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		return errors.New("complete the policy catalog: the cache didn't sync")
	}
	var policies v1alpha1.PolicyList
	if err := c.reader.List(ctx, &policies); err != nil {
		return fmt.Errorf("complete the policy catalog: list policies: %w", err)
	}
	for i := range policies.Items {
		if err := c.sync(ctx, policies.Items[i].Name); err != nil {
			return fmt.Errorf("complete the policy catalog: %w", err)
		}
	}
	var waived v1alpha1.PolicyExceptionList
	if err := c.reader.List(ctx, &waived); err != nil {
		return fmt.Errorf("complete the policy catalog: list policy exceptions: %w", err)
	}
	for i := range waived.Items {
		if err := c.syncException(ctx, client.ObjectKeyFromObject(&waived.Items[i])); err != nil {
			return fmt.Errorf("complete the policy catalog: %w", err)
		}
	}
	c.catalog.MarkComplete()
	return nil
}
