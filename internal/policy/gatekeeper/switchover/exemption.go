// SPDX-License-Identifier: Apache-2.0

package switchover

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// ignoreLabel on a Namespace keeps Gatekeeper's webhook from being asked of what lives in it.
const ignoreLabel = "admission.gatekeeper.sh/ignore"

// exempt brings the exemptions of Config into the constraints, where policies have them as excludedNamespaces, and
// names those that no policy can express: a policy judges the same objects at admission and in the scan.
func (s *Source) exempt(ignored []unstructured.Unstructured) {
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
	for i := range ignored {
		name := ignored[i].GetName()
		s.Exemptions = append(s.Exemptions, fmt.Sprintf("namespace %s has the label %s, so that Gatekeeper's webhook "+
			"isn't asked there, while its audit looks at it: add it to --exempt-namespaces of the manager, which "+
			"never judges there, or to excludedNamespaces of each constraint", name, ignoreLabel))
	}
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
