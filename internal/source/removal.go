// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"maps"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/kube"
	"evenkeel.dev/evenkeel/internal/prose"
)

// alwaysRemovable is how many policies a percentage always lets go: a small source
// may rename one, and retire another.
const alwaysRemovable = 2

// mayEmpty says that a revision without any policy may remove all: a number or a smaller share was meant for less.
func mayEmpty(src *v1alpha1.PolicySource) bool {
	return src.Spec.MaxRemoved != nil && *src.Spec.MaxRemoved == intstr.FromString("100%")
}

func mayRemove(src *v1alpha1.PolicySource, held int) int {
	limit := intstr.FromString(v1alpha1.DefaultSourceMaxRemoved)
	if src.Spec.MaxRemoved != nil {
		limit = *src.Spec.MaxRemoved
	}
	if limit.Type == intstr.Int {
		return limit.IntValue()
	}
	share, err := intstr.GetScaledValueFromIntOrPercent(&limit, held, false)
	if err != nil {
		return 0 // the schema allows no such value
	}
	return max(share, alwaysRemovable)
}

// tooManyRemoved refuses a revision by which most policies would go; nil when it
// may be taken.
func tooManyRemoved(src *v1alpha1.PolicySource, p *changes, revision string) *failure {
	if !prunes(src) || len(p.remove) <= mayRemove(src, p.held) || accepts(src, revision) {
		return nil
	}
	var names []string
	for _, r := range p.remove {
		names = append(names, r.GetName())
	}
	return stalled(v1alpha1.ReasonTooManyRemoved,
		"revision %s would remove %d of %s, and spec.maxRemoved lets %d go at once, so nothing was changed: "+
			"put them back, or correct spec.path, include and exclude; if it is meant, %s (%s)",
		revision, len(p.remove), prose.Count(p.held, "policy"), mayRemove(src, p.held), acceptance(src, revision),
		naming("it would remove ", names))
}

// orphans says that the policies of a deleted source stay, and why, for people. Who is
// accepted no more may have nothing removed either.
func orphans(src *v1alpha1.PolicySource, accepted bool) (why string, stay bool) {
	switch {
	case !accepted:
		return fmt.Sprintf("namespace %s isn't among --source-namespaces", src.Namespace), true
	case src.Spec.DeletionPolicy != v1alpha1.DeletionDelete:
		return fmt.Sprintf("spec.deletionPolicy: %s", v1alpha1.DeletionOrphan), true
	case !prunes(src):
		return "spec.prune: false", true
	case src.Spec.Suspend:
		return "spec.suspend: true", true
	}
	return "", false
}

// prune removes objects; one that was recreated meanwhile stays.
func (a *applier) prune(ctx context.Context, objects []client.Object) error {
	return all(objects, func(p client.Object) error {
		err := a.client.Delete(ctx, p, client.Preconditions{UID: ptr.To(p.GetUID())})
		if kube.Classify(err) == kube.Conflict {
			return errConflict
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("remove %s: %w", refTo(p), err)
		}
		return nil
	})
}

// release leaves objects in force without an owner. A source of the same name may
// take them over again.
func (a *applier) release(ctx context.Context, objects []client.Object) error {
	return all(objects, func(p client.Object) error {
		before, _ := p.DeepCopyObject().(client.Object)
		for _, label := range []string{v1alpha1.LabelSourceName, v1alpha1.LabelSourceNamespace} {
			delete(p.GetLabels(), label)
		}
		annotations := maps.Clone(p.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationAdopt] = a.owner.String()
		p.SetAnnotations(annotations)
		patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
		err := a.client.Patch(ctx, p, patch, client.FieldOwner(v1alpha1.SourceFieldManager))
		if kube.Classify(err) == kube.Conflict {
			return errConflict
		}
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("release %s: %w", refTo(p), err)
		}
		return nil
	})
}

// all does the same with every object, a few at a time.
func all(objects []client.Object, do func(client.Object) error) error {
	var group errgroup.Group
	group.SetLimit(maxParallel)
	for _, o := range objects {
		group.Go(func() error { return do(o) })
	}
	return group.Wait()
}
