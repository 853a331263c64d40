// SPDX-License-Identifier: Apache-2.0

package source

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// action is what the controller was doing, as events.k8s.io wants it said.
const action = "Sync"

const (
	// maxNote is the limit of an event's note in events.k8s.io/v1.
	maxNote = 1024
	// maxNames bounds how many policies a note names, and how many events one
	// fixing of drift makes.
	maxNames = 10
)

// announce records what has changed with a pass, once for each transition.
func (c *Controller) announce(before, after *v1alpha1.PolicySource, seen observation) {
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	if is == nil {
		return
	}
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady)
	turned := was == nil || was.Reason != is.Reason
	moved := before.Status.Revision != after.Status.Revision
	edited := before.Generation != before.Status.ObservedGeneration
	attempted := before.Status.AttemptedRevision != after.Status.AttemptedRevision
	if is.Status == metav1.ConditionFalse && (turned || attempted) {
		c.record(after, corev1.EventTypeWarning, eventOf(is.Reason), is.Message)
	}
	switch {
	case moved, seen.complete && (edited || turned):
		c.record(after, corev1.EventTypeNormal, v1alpha1.EventPolicySourceApplied,
			fmt.Sprintf("%s; %d made, %d changed, %d removed%s",
				inForce(after, seen), len(seen.made), len(seen.changed), len(seen.removed),
				naming(": ", namesOf(seen.removed))))
	case !edited:
		c.announceDrift(after, seen)
	}
}

// announceDrift explains, in an event of the policy or strategy, why it isn't as its author wrote it.
func (c *Controller) announceDrift(src *v1alpha1.PolicySource, seen observation) {
	for i, of := range append(seen.changed[:len(seen.changed):len(seen.changed)], seen.made...) {
		if i == maxNames {
			return
		}
		restored := &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: string(of.kind),
			Name: of.name}
		c.events.Eventf(restored, src, corev1.EventTypeWarning, v1alpha1.EventPolicyRestored, action, "%s",
			fmt.Sprintf("restored to revision %s of PolicySource %s: change it in the repository, or by spec.overrides",
				src.Status.Revision, ownerOf(src)))
	}
}

// announceEnd tells what becomes of a deleted source's policies; kept is why they
// stay, empty when they were removed.
func (c *Controller) announceEnd(src *v1alpha1.PolicySource, policies []v1alpha1.ClusterRegoPolicy, kept string) {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Name
	}
	c.record(src, corev1.EventTypeWarning, v1alpha1.EventPolicySourceDeleted, ending(names, kept)+naming(": ", names))
}

// ending says of a deleted source's policies that they stay, and why, or that they are gone.
func ending(names []string, kept string) string {
	n := len(names)
	if kept == "" {
		return fmt.Sprintf("%s %s removed with it and %s no longer enforced (spec.deletionPolicy: %s)",
			prose.Count(n, "policy"), prose.Verb(n, "was", "were"), prose.Verb(n, "is", "are"), v1alpha1.DeletionDelete)
	}
	return fmt.Sprintf("%s %s in force without a source (%s)", prose.Count(n, "policy"), prose.Verb(n, "stays", "stay"),
		kept)
}

func naming(lead string, names []string) string {
	switch {
	case len(names) == 0:
		return ""
	case len(names) > maxNames:
		return fmt.Sprintf("%s%s and %d more", lead, strings.Join(names[:maxNames], ", "), len(names)-maxNames)
	default:
		return lead + strings.Join(names, ", ")
	}
}

func (c *Controller) record(src *v1alpha1.PolicySource, eventType, reason, note string) {
	c.events.Eventf(src, nil, eventType, reason, action, "%s", prose.Shorten(note, maxNote))
}

func eventOf(reason string) string {
	switch reason {
	case v1alpha1.ReasonNotCompiling:
		return v1alpha1.EventPolicySourceNotCompiling
	case v1alpha1.ReasonTooLarge, v1alpha1.ReasonPolicyConflict, v1alpha1.ReasonRefused,
		v1alpha1.ReasonNamespaceNotAllowed, v1alpha1.ReasonNotDescendant, v1alpha1.ReasonTooManyRemoved:
		return v1alpha1.EventPolicySourceRefused
	case v1alpha1.ReasonApplyFailed:
		return v1alpha1.EventPolicySourceApplyFailed
	default:
		return v1alpha1.EventPolicySourceFetchFailed
	}
}
