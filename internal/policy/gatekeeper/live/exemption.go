// SPDX-License-Identifier: Apache-2.0

package live

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignoreLabel on a Namespace keeps Gatekeeper's webhook from being asked of what lives in it.
const ignoreLabel = "admission.gatekeeper.sh/ignore"

// exemptFrom brings the exemptions of Config into the constraints, where policies have them as excludedNamespaces, and
// names those that no policy can express: a policy judges the same objects at admission and in the scan.
func (s *Source) exemptFrom(ignored []unstructured.Unstructured) {
	var everywhere []string
	for i := range s.Documents {
		object := s.Documents[i].Object
		if object["kind"] != "Config" || KeyOf(object).Group != "config"+gatekeeperGroup {
			continue
		}
		entries, _, _ := unstructured.NestedSlice(object, "spec", "match")
		for _, e := range entries {
			entry, _ := e.(map[string]any)
			processes, _, _ := unstructured.NestedStringSlice(entry, "processes")
			namespaces, _, _ := unstructured.NestedStringSlice(entry, "excludedNamespaces")
			if excludesAll(processes) {
				everywhere = append(everywhere, namespaces...)
			} else if why := unexpressed(processes, namespaces); why != "" {
				s.Exemptions = append(s.Exemptions, why)
			}
		}
	}
	slices.Sort(everywhere)
	s.everywhere = slices.Compact(everywhere)
	s.exclude(s.everywhere)
	s.exemptByWebhook(ignored)
}

// excludesAll says that both the webhook and the audit leave the namespaces out.
func excludesAll(processes []string) bool {
	return slices.Contains(processes, "*") ||
		slices.Contains(processes, "webhook") && slices.Contains(processes, "audit")
}

// unexpressed says of an entry of Config that it leaves namespaces out of one of the two; empty where of neither.
func unexpressed(processes, namespaces []string) string {
	where := strings.Join(namespaces, ", ")
	switch {
	case slices.Contains(processes, "webhook"):
		return fmt.Sprintf("Config exempts %s from the webhook and not from the audit: a policy judges at both; add "+
			"the process audit to the entry, or the namespaces to --exempt-namespaces of the manager", where)
	case slices.Contains(processes, "audit"):
		return fmt.Sprintf("Config exempts %s from the audit and not from the webhook: a policy judges at both; add "+
			"the process webhook to the entry, or take it out", where)
	}
	return ""
}

// exclude adds namespaces to what each constraint excludes, in the documents alone.
func (s *Source) exclude(namespaces []string) {
	if len(namespaces) == 0 {
		return
	}
	for i := range s.Documents {
		object := s.Documents[i].Object
		if KeyOf(object).Group != "constraints"+gatekeeperGroup {
			continue
		}
		excluded, _, err := unstructured.NestedStringSlice(object, "spec", "match", "excludedNamespaces")
		if err != nil {
			continue // it is refused for that
		}
		for _, namespace := range namespaces {
			if !slices.Contains(excluded, namespace) {
				excluded = append(excluded, namespace)
			}
		}
		_ = unstructured.SetNestedStringSlice(object, excluded, "spec", "match", "excludedNamespaces")
	}
}

// exemptByWebhook names what Gatekeeper's webhook isn't asked of, by its configuration and the labels of namespaces,
// while its audit looks at it: a policy judges at both. Namespaces of which Evenkeel's webhook isn't asked either are
// no news.
func (s *Source) exemptByWebhook(ignored []unstructured.Unstructured) {
	var namespaces []string
	for i := range s.webhooks {
		byName, others := exemptions(&s.webhooks[i], ignored)
		namespaces = append(namespaces, byName...)
		s.Exemptions = append(s.Exemptions, others...)
	}
	slices.Sort(namespaces)
	namespaces = slices.DeleteFunc(slices.Compact(namespaces), func(name string) bool {
		return slices.Contains(s.exempt, name)
	})
	if len(namespaces) > 0 {
		s.Exemptions = append(s.Exemptions, fmt.Sprintf("Gatekeeper's webhook isn't asked in %s, by the label %s or "+
			"its namespaceSelector, while its audit looks at what is there: add them to --exempt-namespaces of the "+
			"manager, which never judges there, or to excludedNamespaces of each constraint",
			strings.Join(namespaces, ", "), ignoreLabel))
	}
}

// exemptions are the namespaces that a webhook's configuration leaves out by name, or by the label that those to be
// ignored have, and what else of it narrows what the webhook is asked of.
func exemptions(w *admissionregistrationv1.ValidatingWebhook, ignored []unstructured.Unstructured) (namespaces,
	others []string) {
	const judge = "Gatekeeper's webhook is asked only %s (%s of its configuration), and policies judge all: %s"
	namespaces, rest := byNamespace(w.NamespaceSelector, ignored)
	if narrows(rest) {
		others = append(others, fmt.Sprintf(judge, "in namespaces that match "+metav1.FormatLabelSelector(rest),
			"namespaceSelector", "give each constraint this namespaceSelector"))
	}
	if narrows(w.ObjectSelector) {
		others = append(others, fmt.Sprintf(judge,
			"of objects that match "+metav1.FormatLabelSelector(w.ObjectSelector), "objectSelector",
			"give each constraint this labelSelector"))
	}
	if len(w.MatchConditions) > 0 {
		var names []string
		for _, c := range w.MatchConditions {
			names = append(names, c.Name)
		}
		others = append(others, fmt.Sprintf(judge, "where "+strings.Join(names, ", ")+" hold", "matchConditions",
			"give the policies these spec.admission.matchConditions once they are written"))
	}
	return namespaces, others
}

func narrows(s *metav1.LabelSelector) bool {
	return s != nil && len(s.MatchLabels)+len(s.MatchExpressions) > 0
}

// byNamespace are the namespaces that a selector leaves out by name or by the label of those to be ignored, and what
// else it asks for.
func byNamespace(selector *metav1.LabelSelector, ignored []unstructured.Unstructured) (namespaces []string,
	rest *metav1.LabelSelector) {
	if rest = selector.DeepCopy(); rest == nil {
		return nil, nil
	}
	rest.MatchExpressions = slices.DeleteFunc(rest.MatchExpressions, func(r metav1.LabelSelectorRequirement) bool {
		switch {
		case r.Key == corev1.LabelMetadataName && r.Operator == metav1.LabelSelectorOpNotIn:
			namespaces = append(namespaces, r.Values...)
		case r.Key == ignoreLabel && r.Operator == metav1.LabelSelectorOpDoesNotExist:
			for i := range ignored {
				namespaces = append(namespaces, ignored[i].GetName())
			}
		default:
			return false
		}
		return true
	})
	return namespaces, rest
}
