// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/internal/prose"
)

// Similar are the kinds of Kubernetes and of those given that a person may have meant by KIND or
// KIND.GROUP, which is none of them, as one writes them for --kind.
func Similar(name string, given []schema.GroupVersionKind) []string {
	kind, group, qualified := strings.Cut(name, ".")
	var kinds, inFull, sameKind []string
	for _, k := range slices.Concat(given, builtIn()) {
		full := k.GroupKind().String()
		kinds, inFull = append(kinds, k.Kind), append(inFull, full)
		if qualified && group != "" && strings.EqualFold(k.Kind, kind) {
			sameKind = append(sameKind, full)
		}
	}
	switch near := prose.Nearest(name, inFull); {
	case qualified && near != "":
		return []string{near}
	case qualified:
		return distinct(sameKind)
	}
	if parts := holding(kinds, strings.TrimSuffix(kind, "s")); len(parts) > 0 && len(parts) <= maxSimilar {
		return parts
	}
	if near := prose.Nearest(kind, kinds); near != "" {
		return []string{near}
	}
	return nil
}

// maxSimilar is how many kinds a message names at most.
const maxSimilar = 5

// holding are the names that a part is in, however it is written.
func holding(names []string, part string) []string {
	return distinct(slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return part == "" || !strings.Contains(strings.ToLower(name), strings.ToLower(part))
	}))
}

func distinct(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}

// Unknown says that Kubernetes has no such kind in a group, and what was most likely meant,
// if anything: a kind, or the group that has it. A group that isn't of Kubernetes is unknown only where one of
// Kubernetes was most likely meant.
func Unknown(group, kind string) (unknown bool, meant string) {
	var kinds, groups []string
	for _, known := range builtIn() {
		switch {
		case known.Group == group:
			kinds = append(kinds, known.Kind)
		case known.Kind == kind:
			groups = append(groups, known.Group)
		}
	}
	if slices.Contains(kinds, kind) {
		return false, ""
	}
	groups = distinct(groups)
	nearest := prose.Nearest(group, groups)
	if nearest == "" && len(groups) > 0 {
		nearest = groups[0]
		unknown = !strings.Contains(group, ".") // that of a CustomResourceDefinition has a dot
	} else {
		unknown = len(groups) > 0
	}
	if len(kinds) > 0 {
		unknown, meant = true, prose.Nearest(kind, kinds)
	}
	if unknown && meant == "" && len(groups) > 0 {
		meant = fmt.Sprintf("the group %q", nearest)
	}
	return unknown, meant
}
