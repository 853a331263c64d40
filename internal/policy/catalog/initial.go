// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/rego"
)

// initialList completes the catalog once every template, policy, waiver and override of the
// first lists is set.
type initialList struct{ controller *Controller }

// NeedLeaderElection is false: every replica needs the policies.
func (initialList) NeedLeaderElection() bool { return false }

// Start waits for the cache, sets each template, policy, waiver and override in it and marks the
// catalog complete.
func (l initialList) Start(ctx context.Context) error {
	c := l.controller
	if !c.cache.WaitForCacheSync(ctx) {
		if ctx.Err() != nil {
			return nil
		}
		return errors.New("complete the policy catalog: the cache didn't sync")
	}
	if err := c.syncTemplates(ctx); err != nil {
		return fmt.Errorf("complete the policy catalog: %w", err)
	}
	var policies v1alpha1.ClusterRegoPolicyList
	if err := c.reader.List(ctx, &policies); err != nil {
		return fmt.Errorf("complete the policy catalog: list policies: %w", err)
	}
	slices.SortStableFunc(policies.Items, func(a, b v1alpha1.ClusterRegoPolicy) int {
		return cmp.Compare(rego.CompileCost(&a.Spec.Rego), rego.CompileCost(&b.Spec.Rego)) // what takes long comes last
	})
	for i := range policies.Items {
		if err := c.sync(ctx, policies.Items[i].Name); err != nil {
			return fmt.Errorf("complete the policy catalog: %w", err)
		}
	}
	if err := c.syncWaivers(ctx); err != nil {
		return fmt.Errorf("complete the policy catalog: %w", err)
	}
	if err := c.syncOverrides(ctx); err != nil {
		return fmt.Errorf("complete the policy catalog: %w", err)
	}
	c.catalog.MarkComplete()
	return nil
}

func (c *Controller) syncWaivers(ctx context.Context) error {
	waived, err := ListWaivers(ctx, c.reader)
	if err != nil {
		return err
	}
	for _, w := range waived {
		if err := c.syncWaiver(ctx, types.NamespacedName{Namespace: w.GetNamespace(), Name: w.GetName()}); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) syncTemplates(ctx context.Context) error {
	var templates v1alpha1.RegoTemplateList
	if err := c.reader.List(ctx, &templates); err != nil {
		return fmt.Errorf("list templates: %w", err)
	}
	slices.SortStableFunc(templates.Items, func(a, b v1alpha1.RegoTemplate) int {
		return cmp.Compare(rego.CompileCost(&a.Spec.Rego), rego.CompileCost(&b.Spec.Rego))
	})
	for i := range templates.Items {
		if err := c.syncTemplate(ctx, templates.Items[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// templateReconciler is the reconciler of templates.
type templateReconciler struct{ controller *Controller }

// Reconcile brings one template into the catalog or takes it out.
func (t templateReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, t.controller.syncTemplate(ctx, request.Name)
}

func (c *Controller) syncTemplate(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var t v1alpha1.RegoTemplate
	err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &t)
	if apierrors.IsNotFound(err) {
		c.catalog.DeleteTemplate(name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read RegoTemplate %s: %w", name, err)
	}
	if err := c.catalog.SetTemplate(&t); err != nil {
		logf.FromContext(ctx).Error(err, "template can't be used as written", "template", name)
	}
	return nil
}
