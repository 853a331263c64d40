// SPDX-License-Identifier: Apache-2.0

package source

import (
	"context"
	"fmt"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// commitOf is the commit of a revision, as main@sha1:5f3c… or by itself.
func commitOf(revision string) string {
	return revision[strings.LastIndex(revision, ":")+1:]
}

// accepted is the commit that a person has accepted by name; empty for none.
func accepted(src *v1alpha1.PolicySource) string {
	return commitOf(strings.TrimSpace(src.Annotations[v1alpha1.AnnotationAcceptRevision]))
}

func accepts(src *v1alpha1.PolicySource, revision string) bool {
	commit := accepted(src)
	return commit != "" && commit == commitOf(revision)
}

func acceptance(src *v1alpha1.PolicySource, revision string) string {
	return fmt.Sprintf("kubectl annotate policysource %s -n %s --overwrite %s=%s", src.Name, src.Namespace,
		v1alpha1.AnnotationAcceptRevision, commitOf(revision))
}

// mustFollow is the commit from which a new revision must descend; empty where any
// is taken: before one is in force, where the spec says so, and where it names the
// commit itself.
func mustFollow(src *v1alpha1.PolicySource) string {
	if src.Spec.History == v1alpha1.HistoryAny || src.Spec.Ref != nil && src.Spec.Ref.Commit != "" {
		return ""
	}
	return commitOf(src.Status.Revision)
}

// spent says that the word for a revision has had its day: what the repository
// holds is in force. It must not be good for a later push that goes back.
func spent(src *v1alpha1.PolicySource, seen observation) bool {
	return seen.complete && accepted(src) != ""
}

// forgetAcceptance takes the annotation off, unless somebody has written another.
func (c *Controller) forgetAcceptance(ctx context.Context, src *v1alpha1.PolicySource) error {
	before := src.DeepCopy()
	delete(src.Annotations, v1alpha1.AnnotationAcceptRevision)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.client.Patch(ctx, src, patch, client.FieldOwner(v1alpha1.FieldManager)); err != nil {
		return fmt.Errorf("take %s off PolicySource %s: %w", v1alpha1.AnnotationAcceptRevision, ownerOf(src), err)
	}
	return nil
}
