// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
)

// prune removes policies; one that somebody has made anew meanwhile stays.
func (a *applier) prune(ctx context.Context, policies []v1alpha1.ClusterRegoPolicy) error {
	return all(policies, func(p *v1alpha1.ClusterRegoPolicy) error {
		err := a.client.Delete(ctx, p, client.Preconditions{UID: &p.UID})
		if kube.Classify(err) == kube.Conflict {
			return errConflict
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove policy %s: %w", p.Name, err)
		}
		return nil
	})
}

// release leaves policies in force without an owner. A source of the same name may
// take them over again.
func (a *applier) release(ctx context.Context, policies []v1alpha1.ClusterRegoPolicy) error {
	return all(policies, func(p *v1alpha1.ClusterRegoPolicy) error {
		before := p.DeepCopy()
		for _, label := range []string{v1alpha1.LabelSourceName, v1alpha1.LabelSourceNamespace} {
			delete(p.Labels, label)
		}
		metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationAdopt, a.owner.String())
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := a.client.Patch(ctx, p, patch, client.FieldOwner(v1alpha1.SourceFieldManager))
		if kube.Classify(err) == kube.Conflict {
			return errConflict
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("let go of policy %s: %w", p.Name, err)
		}
		return nil
	})
}

// all does the same with every policy, a few at a time.
func all(policies []v1alpha1.ClusterRegoPolicy, do func(*v1alpha1.ClusterRegoPolicy) error) error {
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for i := range policies {
		group.Go(func() error { return do(&policies[i]) })
	}
	return group.Wait()
}
