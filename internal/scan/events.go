// SPDX-License-Identifier: Apache-2.0

package scan

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/prose"
	"evenkeel.dev/evenkeel/internal/scan/index"
)

// action is what the controller was doing, as events.k8s.io wants it said.
const action = "Scan"

// maxNote is the limit of an event's note in events.k8s.io/v1.
const maxNote = 1024

// notice is one event to be recorded. References carry the resourceVersion:
// events alike in all but their note would be counted as one, with the first
// one's note.
type notice struct {
	regarding, related runtime.Object
	eventType          string
	reason, note       string
}

func violationFound(t index.Transition) notice {
	namespace, name := index.SplitKey(t.Key)
	return notice{
		regarding: &corev1.ObjectReference{APIVersion: t.APIVersion, Kind: t.Kind.Kind,
			Namespace: namespace, Name: name, UID: types.UID(t.UID), ResourceVersion: t.ResourceVersion},
		related:   policyReference(t.Policy, t.PolicyUID),
		eventType: corev1.EventTypeWarning, reason: v1alpha1.EventViolationFound,
		note: fmt.Sprintf("violates policy %s: %s", t.Policy, t.Message),
	}
}

func firstPass(p *v1alpha1.ClusterRegoPolicy, s index.Summary) notice {
	return onPolicy(p, corev1.EventTypeWarning, v1alpha1.EventViolationFound,
		fmt.Sprintf("%s revision %s, %s in all", share(s.Violating, s.Scanned), s.Revision,
			prose.Count(s.Violations, "violation")))
}

func moreViolations(p *v1alpha1.ClusterRegoPolicy, more int, s index.Summary) notice {
	return onPolicy(p, corev1.EventTypeWarning, v1alpha1.EventViolationFound,
		fmt.Sprintf("%s began to violate than have events of their own; %s now",
			prose.Count(more, "more object"), share(s.Violating, s.Scanned)))
}

func violationsResolved(p *v1alpha1.ClusterRegoPolicy, s index.Summary) notice {
	note := fmt.Sprintf("none of %s violates the policy any more", prose.Count(s.Scanned, "object"))
	if s.Waived > 0 {
		note += fmt.Sprintf(", but for %d that %s waived", s.Waived, prose.Verb(s.Waived, "is", "are"))
	}
	return onPolicy(p, corev1.EventTypeNormal, v1alpha1.EventViolationResolved, note)
}

func waiverExpired(w v1alpha1.AnyWaiver) notice {
	return notice{
		regarding: &corev1.ObjectReference{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: v1alpha1.WaiverKind(w.GetNamespace()),
			Namespace: w.GetNamespace(), Name: w.GetName(), UID: w.GetUID(), ResourceVersion: w.GetResourceVersion()},
		eventType: corev1.EventTypeWarning, reason: v1alpha1.EventWaiverExpired,
		note: fmt.Sprintf("violations of %s are no longer waived; the waiver was made because: %s",
			strings.Join(w.Terms().Policies, ", "), w.Terms().Reason),
	}
}

func scanIncomplete(p *v1alpha1.ClusterRegoPolicy, s index.Summary) notice {
	return onPolicy(p, corev1.EventTypeWarning, v1alpha1.EventScanIncomplete, incompleteMessage(&s))
}

func onPolicy(p *v1alpha1.ClusterRegoPolicy, eventType, reason, note string) notice {
	regarding := policyReference(p.Name, p.UID)
	regarding.ResourceVersion = p.ResourceVersion
	return notice{regarding: regarding, eventType: eventType, reason: reason, note: note}
}

func policyReference(name string, uid types.UID) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ClusterRegoPolicy", Name: name,
		UID: uid}
}

func share(n, of int) string {
	return fmt.Sprintf("%d of %s %s", n, prose.Count(of, "object"), prose.Verb(n, "violates", "violate"))
}
