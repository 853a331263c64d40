// SPDX-License-Identifier: Apache-2.0

package planner

import "github.com/open-policy-agent/opa/v1/ast"

// negatedLookup is a reference in a negated expression of a rule that finds a rule by a key that isn't known; nil
// for none. OPA's planner puts what is asked of the value into the block in which it looks the rule up
// (planRefData of v1.22.2): a value for which that doesn't hold leaves this block alone, and what is negated is
// taken to hold.
func negatedLookup(compiler *ast.Compiler, rule *ast.Rule) (found ast.Ref) {
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		if !e.Negated {
			return found != nil
		}
		ast.WalkRefs(e, func(ref ast.Ref) bool {
			if found == nil && looksUp(compiler.RuleTree, ref) {
				found = ref
			}
			return found != nil
		})
		return found != nil
	})
	return found
}

// negatedRelation is a built-in function in a negated expression of a rule that has many answers, such as walk; nil for
// none. OPA's planner takes what is negated to hold even where none of the answers is what is asked for
// (planExprCall of v1.22.2): the scan over them always ends well.
func negatedRelation(rule *ast.Rule) (found ast.Ref) {
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		if !e.Negated {
			return found != nil
		}
		ast.WalkExprs(e, func(inner *ast.Expr) bool {
			if found == nil && inner.IsCall() {
				if f := ast.BuiltinMap[inner.Operator().String()]; f != nil && f.Relation {
					found = inner.Operator()
				}
			}
			return found != nil
		})
		return found != nil
	})
	return found
}

// looksUp says that a reference has a key that isn't known where rules are found by it.
func looksUp(tree *ast.TreeNode, ref ast.Ref) bool {
	for i, term := range ref {
		if tree == nil || len(tree.Values) > 0 {
			return false
		}
		if i > 0 && !term.IsGround() {
			return len(tree.Children) > 0
		}
		tree = tree.Child(term.Value)
	}
	return false
}
