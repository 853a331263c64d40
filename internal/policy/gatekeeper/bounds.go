// SPDX-License-Identifier: Apache-2.0

package gatekeeper

import (
	"fmt"
	"slices"

	"evenkeel.dev/evenkeel/api/v1alpha1"
)

// The bounds of the API on match of a policy.
const (
	// maxEntries is how many entries match.kinds may have, and maxGroups and maxKinds one of them.
	maxEntries = 32
	maxGroups  = 16
	maxKinds   = 32
	// maxNamespaces is how many globs match.namespaces and match.excludedNamespaces may have each.
	maxNamespaces = 64
	// maxReferences is how many kinds match.references may have.
	maxReferences = 16
)

// beyondBounds says which lists of a policy are longer than the API server takes.
func beyondBounds(p *v1alpha1.ClusterRegoPolicy) (refused []string) {
	match := &p.Spec.Match
	for _, list := range []struct {
		field       string
		has, most   int
		whatInstead string
	}{
		{"match.namespaces", len(match.Namespaces), maxNamespaces, "use globs, or a namespaceSelector"},
		{"match.excludedNamespaces", len(match.ExcludedNamespaces), maxNamespaces, "use globs, or a namespaceSelector"},
		{"match.references", len(match.References), maxReferences, "name those that its Rego looks up in the " +
			"annotation " + requiresSync + " of its ConstraintTemplate"},
	} {
		if list.has > list.most {
			refused = append(refused, fmt.Sprintf("%s would have %d entries, and a policy has at most %d: %s",
				list.field, list.has, list.most, list.whatInstead))
		}
	}
	return refused
}

// divided are entries of match.kinds none of which has more groups or kinds than the API server takes.
func divided(entries []v1alpha1.KindMatch) (out []v1alpha1.KindMatch) {
	for _, entry := range entries {
		for groups := range slices.Chunk(entry.APIGroups, maxGroups) {
			for kinds := range slices.Chunk(entry.Kinds, maxKinds) {
				one := entry
				one.APIGroups, one.Kinds = groups, kinds
				out = append(out, one)
			}
		}
	}
	return out
}
