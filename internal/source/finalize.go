// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// hold keeps a source whose policies may come into force from going without them.
func (c *Controller) hold(ctx context.Context, src *v1alpha1.PolicySource) error {
	before := src.DeepCopy()
	if !c.allowed.Has(src.Namespace) || src.Spec.Suspend ||
		!controllerutil.AddFinalizer(src, v1alpha1.SourceFinalizer) {
		return nil
	}
	return c.patchFinalizers(ctx, src, before)
}

// finalize lets go of the policies and strategies of a source that is being deleted, or removes
// them, as its spec says where the source is accepted.
func (c *Controller) finalize(ctx context.Context, src *v1alpha1.PolicySource) error {
	before := src.DeepCopy()
	if !controllerutil.RemoveFinalizer(src, v1alpha1.SourceFinalizer) {
		return nil
	}
	live, shared := &v1alpha1.ClusterRegoPolicyList{}, &v1alpha1.RemediationStrategyList{}
	o := ownerOf(src)
	for _, list := range []client.ObjectList{live, shared} {
		if err := c.reader.List(ctx, list, client.MatchingLabels(o.labels())); err != nil {
			return fmt.Errorf("list the policies and strategies of PolicySource %s: %w", o, err)
		}
	}
	writes := &applier{client: c.client, owner: o}
	kept, stay := orphans(src, c.allowed.Has(src.Namespace))
	end := writes.prune
	if stay {
		end = writes.release
	}
	for _, objects := range [][]client.Object{pointers(live.Items), pointers(shared.Items)} {
		if err := end(ctx, objects); err != nil {
			return fmt.Errorf("release the policies and strategies of PolicySource %s: %w", o, err)
		}
	}
	c.announceEnd(src, live.Items, kept)
	if err := c.fetcher.Forget(string(src.UID)); err != nil {
		log.FromContext(ctx).Error(err, "files of a repository stay on disk")
	}
	c.contents.forget(src.UID)
	return client.IgnoreNotFound(c.patchFinalizers(ctx, src, before))
}

func (c *Controller) patchFinalizers(ctx context.Context, src, before *v1alpha1.PolicySource) error {
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, src, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("write the finalizers of PolicySource %s/%s: %w", src.Namespace, src.Name, err)
	}
	return nil
}
