// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy/match"
)

// Policies are what a walk needs of catalog.Snapshot.
type Policies interface {
	// Policies are the definitions in force.
	Policies() []*v1alpha1.ClusterRegoPolicy
	// DependsOnNamespace says that what a policy says of an object may change with its Namespace.
	DependsOnNamespace(name string) bool
}

// KindsOf are the kinds that the scan looks at for the policies, sorted, each once.
func KindsOf(policies ...*v1alpha1.ClusterRegoPolicy) []schema.GroupKind {
	var kinds []schema.GroupKind
	for _, p := range policies {
		for _, k := range match.StandingKinds(p) {
			kinds = append(kinds, schema.GroupKind{Group: k.Group, Kind: k.Kind})
		}
	}
	slices.SortFunc(kinds, func(a, b schema.GroupKind) int {
		return slices.Compare([]string{a.Group, a.Kind}, []string{b.Group, b.Kind})
	})
	return slices.Compact(kinds)
}

// NamespaceKinds are the kinds of the policies whose verdict depends on the
// namespace of the object.
func NamespaceKinds(inForce Policies) map[schema.GroupKind]bool {
	out := map[schema.GroupKind]bool{}
	for _, p := range inForce.Policies() {
		if !inForce.DependsOnNamespace(p.Name) {
			continue
		}
		for _, gk := range KindsOf(p) {
			out[gk] = true
		}
	}
	return out
}
