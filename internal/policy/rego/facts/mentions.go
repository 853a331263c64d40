// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
	"evenkeel.dev/evenkeel/internal/policy"
	"evenkeel.dev/evenkeel/internal/policy/rego/compile"
)

// Mentions are what modules name that were parsed and not compiled: they may name what isn't
// there. Comments and texts name nothing.
type Mentions struct {
	refs  []ast.Ref
	rules []string
}

// MentionsOf parses the modules. The error is a *compile.Error.
func MentionsOf(sources []v1alpha1.RegoLibrary, version v1alpha1.RegoVersion) (Mentions, error) {
	modules, err := compile.Parse(sources, version)
	if err != nil {
		return Mentions{}, err
	}
	var m Mentions
	for _, module := range modules {
		ast.WalkRefs(module, func(ref ast.Ref) bool {
			m.refs = append(m.refs, ref)
			return false
		})
		for _, rule := range module.Rules {
			m.rules = append(m.rules, string(rule.Head.Ref()[0].Value.(ast.Var)))
		}
	}
	return m, nil
}

// Refers says that a reference from the root leads to what stands under the keys, or into it,
// or may lead there by a key that is computed: Refers("data", "inventory"). A call refers to its
// function.
func (m Mentions) Refers(root string, keys ...string) bool {
	return slices.ContainsFunc(m.refs, func(ref ast.Ref) bool {
		if ref[0].Value.Compare(ast.Var(root)) != 0 {
			return false
		}
		for i, operand := range ref[1:min(len(ref), 1+len(keys))] {
			if text, ok := operand.Value.(ast.String); ok && string(text) != keys[i] {
				return false
			}
		}
		return true
	})
}

// Key says that some reference has the key, of whatever.
func (m Mentions) Key(name string) bool {
	return slices.ContainsFunc(m.refs, func(ref ast.Ref) bool {
		return slices.ContainsFunc(ref[1:], func(operand *ast.Term) bool {
			return operand.Value.Compare(ast.String(name)) == 0
		})
	})
}

// Rule says that the modules have a rule of the name.
func (m Mentions) Rule(name string) bool { return slices.Contains(m.rules, name) }

// Lookups are the kinds, in the versions, that references below data.<root> name, sorted; told is false
// where one of them names none, or computes it.
func (m Mentions) Lookups(root string) (kinds []policy.GroupVersionKind, told bool) {
	told = true
	for _, ref := range m.refs {
		if !ref.HasPrefix(inventoryRef(root)) {
			told = told && !(Mentions{refs: []ast.Ref{ref}}).Refers("data", root)
			continue
		}
		kind, ok := lookedUp(ref[2:])
		if told = told && ok; ok {
			kinds = append(kinds, kind)
		}
	}
	return sortedKinds(kinds), told
}

// lookedUp is the kind that a reference below the inventory names. Its keys may be of any type, references too.
func lookedUp(ref ast.Ref) (policy.GroupVersionKind, bool) {
	if len(ref) == 0 {
		return policy.GroupVersionKind{}, false
	}
	scope, _ := ref[0].Value.(ast.String)
	version, known := map[ast.String]int{"cluster": 1, "namespace": 2}[scope]
	if !known || len(ref) < version+2 {
		return policy.GroupVersionKind{}, false
	}
	groupVersion, isText := ref[version].Value.(ast.String)
	kind, alsoText := ref[version+1].Value.(ast.String)
	return kindOf(string(groupVersion), string(kind)), isText && alsoText
}
