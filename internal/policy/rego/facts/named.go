// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy"
)

// Kinds are those that rules look up by name, in the versions that they name, sorted. What is computed isn't among
// them, nor what Kubernetes has removed and is superseded.
func (l Lookups) Kinds() []policy.GroupVersionKind { return kindsIn(l.paths) }

// LookupsAt are the first places where compiled modules look kinds up by name, below data.<root>. A kind that a
// reference comes to by another name has none.
func LookupsAt(compiler *ast.Compiler, root string) map[policy.GroupVersionKind]*ast.Location {
	below, at := inventoryRef(root), map[policy.GroupVersionKind]*ast.Location{}
	for _, name := range slices.Sorted(maps.Keys(compiler.Modules)) {
		ast.WalkRefs(compiler.Modules[name], func(ref ast.Ref) bool {
			if !ref.HasPrefix(below) || ref[0].Location == nil {
				return false
			}
			if kind, named := lookedUp(ref[len(below):]); named && at[kind] == nil {
				at[kind] = ref[0].Location
			}
			return false
		})
	}
	return at
}
