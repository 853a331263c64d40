// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// overrideReconciler is the reconciler of overrides.
type overrideReconciler struct{ controller *Controller }

// Reconcile brings one override into the catalog or takes it out. Its end needs nobody.
func (r overrideReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	return ctrl.Result{}, r.controller.syncOverride(ctx, request.Name)
}

func (c *Controller) syncOverride(ctx context.Context, name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	var o v1alpha1.PolicyOverride
	err := c.reader.Get(ctx, types.NamespacedName{Name: name}, &o)
	if apierrors.IsNotFound(err) {
		c.catalog.DeleteOverride(name)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read PolicyOverride %s: %w", name, err)
	}
	c.catalog.SetOverride(&o)
	return nil
}

func (c *Controller) syncOverrides(ctx context.Context) error {
	var all v1alpha1.PolicyOverrideList
	if err := c.reader.List(ctx, &all); err != nil {
		return fmt.Errorf("list overrides: %w", err)
	}
	for i := range all.Items {
		if err := c.syncOverride(ctx, all.Items[i].Name); err != nil {
			return err
		}
	}
	return nil
}
