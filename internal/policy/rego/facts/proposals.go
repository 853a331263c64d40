// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"cmp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// Proposals is what a policy's fixes may come to, as far as its text tells.
type Proposals struct {
	// Creates are the kinds of the manifests written out in the modules, when they
	// propose to create any object.
	Creates []policy.GroupVersionKind
	// Opaque says that they propose to create an object whose kind their text
	// doesn't tell.
	Opaque bool
	// Status says that they propose a patch of the status.
	Status bool
}

// ProposalsOf reads what the policy's modules may propose, without judging
// anything. The error is a *compile.Error.
func ProposalsOf(p *v1alpha1.ClusterRegoPolicy) (Proposals, error) {
	modules, err := compile.Parse(p.Spec.Rego.Modules(), p.Spec.Rego.Version)
	if err != nil {
		return Proposals{}, err
	}
	var out Proposals
	var manifests []policy.GroupVersionKind
	creates := false
	for _, module := range modules {
		ast.WalkTerms(module, func(term *ast.Term) bool {
			object, ok := term.Value.(ast.Object)
			if !ok {
				return false
			}
			creates = creates || makesObject(constant(object, "action"))
			out.Status = out.Status || constant(object, "subresource") == policy.StatusSubresource
			if kind, version := constant(object, "kind"), constant(object, "apiVersion"); kind != "" && version != "" {
				manifests = append(manifests, kindOf(version, kind))
			}
			return false
		})
	}
	if creates {
		out.Creates, out.Opaque = sortedKinds(manifests), len(manifests) == 0
	}
	return out, nil
}

// makesObject reports whether an action, by its name in Rego, makes another object.
func makesObject(action string) bool {
	return slices.ContainsFunc(v1alpha1.ActionTypes(), func(t v1alpha1.ActionType) bool {
		return t.Creates() && strings.ToLower(string(t)) == action
	})
}

// constant is the text that an object of the source has under a key; empty when it
// has none, or one that is computed.
func constant(object ast.Object, key string) string {
	value := object.Get(ast.StringTerm(key))
	if value == nil {
		return ""
	}
	text, ok := value.Value.(ast.String)
	if !ok {
		return ""
	}
	return string(text)
}

func kindOf(apiVersion, kind string) policy.GroupVersionKind {
	group, version, grouped := strings.Cut(apiVersion, "/")
	if !grouped {
		group, version = "", apiVersion
	}
	return policy.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

func sortedKinds(kinds []policy.GroupVersionKind) []policy.GroupVersionKind {
	slices.SortFunc(kinds, func(a, b policy.GroupVersionKind) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Version, b.Version))
	})
	return slices.Compact(kinds)
}
