// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// exemptBy are the namespaces that Evenkeel's configuration names, sorted; kube-system and kube-node-lease where it
// names none yet.
func exemptBy(config *admissionregistrationv1.ValidatingWebhookConfiguration) []string {
	byDefault := []string{corev1.NamespaceNodeLease, metav1.NamespaceSystem}
	if config == nil {
		return byDefault
	}
	var out []string
	for i := range config.Webhooks {
		selector := config.Webhooks[i].NamespaceSelector
		if selector == nil {
			continue
		}
		for _, term := range selector.MatchExpressions {
			if term.Key == corev1.LabelMetadataName && term.Operator == metav1.LabelSelectorOpNotIn {
				out = append(out, term.Values...)
			}
		}
	}
	if len(out) == 0 {
		return byDefault
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// NothingStored says that a policy is on subresources alone, of which a comparison of live objects tells nothing; empty
// for another.
func NothingStored(p *v1alpha1.ClusterRegoPolicy) string {
	if len(match.Kinds(p)) > 0 {
		return ""
	}
	return "it concerns subresources alone, of which nothing is stored: nothing was compared, try both"
}

// NeverJudged says which of the exempt namespaces a policy concerns by its match, where its constraint is enforced by
// Gatekeeper alone; empty for none.
func NeverJudged(p *v1alpha1.ClusterRegoPolicy, exempt []string) string {
	var out []string
	named, err := match.Namespaces(&p.Spec.Match)
	for _, namespace := range exempt {
		// A policy that names no namespaces that could be isn't in force, whatever it would concern.
		if err != nil || named(namespace) {
			out = append(out, namespace)
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("Evenkeel never refuses anything in %s (docs/exemptions.md), and the constraint means them "+
		"too: keep it in Gatekeeper for those, or exclude them from it", strings.Join(out, ", "))
}
