// SPDX-License-Identifier: Apache-2.0

package webhooktest

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// OfKind makes a review one of a kind of Evenkeel's own.
func OfKind(kind, resource string) func(Tree) {
	return func(r Tree) {
		r["kind"] = Tree{"group": "evenkeel.dev", "version": "v1alpha1", "kind": kind}
		r["resource"] = Tree{"group": "evenkeel.dev", "version": "v1alpha1", "resource": resource}
		r["namespace"] = ""
	}
}

// Now is the time that tests of waivers stand still at.
func Now() time.Time { return time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) }

// NewWaiver is one of the policy no-privileged for shop/web.
func NewWaiver(until time.Time, change ...func(*v1alpha1.Waiver)) *v1alpha1.Waiver {
	e := &v1alpha1.Waiver{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "legacy"},
		Spec: v1alpha1.WaiverSpec{Match: v1alpha1.WaiverMatch{Names: []string{"web"}},
			WaiverTerms: v1alpha1.WaiverTerms{
				Policies: []string{"no-privileged"}, Reason: "moves next quarter",
				ExpirationTime: metav1.NewTime(until)}}}
	for _, c := range change {
		c(e)
	}
	return e
}

// OfParts makes a policy concern subresources instead of Pods.
func OfParts(operation v1alpha1.Operation, group, kind string, names ...v1alpha1.Subresource) func(
	*v1alpha1.ClusterRegoPolicy) {
	return func(p *v1alpha1.ClusterRegoPolicy) {
		p.Spec.Admission.Operations = []v1alpha1.Operation{operation}
		p.Spec.Match.Kinds = []v1alpha1.KindMatch{
			{APIGroups: []string{group}, Kinds: []string{kind}, Subresources: names}}
	}
}
