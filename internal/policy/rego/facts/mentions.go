// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/api/v1alpha1"
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
