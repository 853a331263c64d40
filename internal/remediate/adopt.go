// SPDX-License-Identifier: Apache-2.0

package remediate

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/remediate/record"
)

// adopt makes the Remediation the owner of its slices, so that they go with it.
func (c *Controller) adopt(ctx context.Context, rem *v1alpha1.Remediation, b *record.Records) error {
	for i, before := range b.Slices {
		if metav1.IsControlledBy(before, rem) {
			continue
		}
		slice := before.DeepCopy()
		if err := controllerutil.SetControllerReference(rem, slice, c.client.Scheme()); err != nil {
			return fmt.Errorf("slice %s: %w", slice.Name, err)
		}
		records := slice.Records
		if err := c.client.Patch(ctx, slice, client.MergeFrom(before),
			client.FieldOwner(v1alpha1.FieldManager)); err != nil {
			return fmt.Errorf("adopt slice %s: %w", slice.Name, err)
		}
		slice.Records = records
		b.Slices[i] = slice
	}
	return nil
}

// reopen holds an ended plan that is to be undone: its records may not go while
// that is under way.
func (c *Controller) reopen(ctx context.Context, rem *v1alpha1.Remediation) error {
	before := rem.DeepCopy()
	if !rem.Status.Phase.Final() || !controllerutil.AddFinalizer(rem, v1alpha1.Finalizer) {
		return nil
	}
	return c.client.Patch(ctx, rem, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(v1alpha1.FieldManager))
}

// finish lets go of a plan that has reached a final phase.
func (c *Controller) finish(ctx context.Context, rem *v1alpha1.Remediation) error {
	before := rem.DeepCopy()
	if !controllerutil.RemoveFinalizer(rem, v1alpha1.Finalizer) {
		return nil
	}
	err := c.client.Patch(ctx, rem, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}),
		client.FieldOwner(v1alpha1.FieldManager))
	return client.IgnoreNotFound(err)
}
