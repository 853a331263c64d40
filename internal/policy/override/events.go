// SPDX-License-Identifier: Apache-2.0

package override

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
)

// action is what the controller was doing, as events.k8s.io wants it said.
const action = "Override"

// maxNote is the limit of an event's note in events.k8s.io/v1.
const maxNote = 1024

// note is one event about a policy; without a reason it is none.
type note struct{ eventType, reason, text string }

// announcement is the event of a change of an override's status: that it has begun, or been
// asked for otherwise, and that it has ended.
func announcement(before, after *v1alpha1.PolicyOverride, in *Override) note {
	was := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionActive)
	is := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionActive)
	switch on := was != nil && was.Status == metav1.ConditionTrue; {
	case in != nil && (!on || was.Message != is.Message):
		return note{corev1.EventTypeWarning, v1alpha1.EventPolicyOverridden, prose.Shorten(in.String(), maxNote)}
	case in == nil && on:
		return note{corev1.EventTypeNormal, v1alpha1.EventOverrideEnded, prose.Shorten(is.Message, maxNote)}
	}
	return note{}
}

func policyReference(p *v1alpha1.ClusterRegoPolicy) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy", Name: p.Name,
		UID: p.UID, ResourceVersion: p.ResourceVersion}
}
