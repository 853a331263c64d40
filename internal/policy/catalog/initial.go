// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"context"
	"errors"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
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
	for i := range policies.Items {
		if err := c.locked(ctx, c.syncPolicy, client.ObjectKeyFromObject(&policies.Items[i])); err != nil {
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
		if err := c.locked(ctx, c.syncWaiver, client.ObjectKeyFromObject(w)); err != nil {
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
	for i := range templates.Items {
		if err := c.locked(ctx, c.syncTemplate, client.ObjectKeyFromObject(&templates.Items[i])); err != nil {
			return err
		}
	}
	return nil
}

func (c *Controller) syncOverrides(ctx context.Context) error {
	var all v1alpha1.PolicyOverrideList
	if err := c.reader.List(ctx, &all); err != nil {
		return fmt.Errorf("list overrides: %w", err)
	}
	for i := range all.Items {
		if err := c.locked(ctx, c.syncOverride, client.ObjectKeyFromObject(&all.Items[i])); err != nil {
			return err
		}
	}
	return nil
}
