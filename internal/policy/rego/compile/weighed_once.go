// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/limit"
)

// givesOnce says that a body takes a variable from the elements of one collection, each
// once: together they are no more than that collection, which was weighed.
func givesOnce(body ast.Body, variable ast.Var, outer ast.VarSet) bool {
	bound, elements := outer.Copy(), ast.NewVarSet()
	loops := 0
	for _, expr := range body {
		switch terms := expr.Terms.(type) {
		case *ast.Term:
			loops += unboundIn(terms, bound)
		case []*ast.Term:
			if len(expr.With) > 0 || !known(expr, terms) {
				return false
			}
			for _, term := range terms[1:] {
				loops += unboundIn(term, bound)
			}
			if expr.IsEquality() && !expr.Negated {
				takes(terms[1], terms[2], bound, elements)
				takes(terms[2], terms[1], bound, elements)
			}
		default:
			return false
		}
		ast.WalkVars(expr, func(v ast.Var) bool {
			bound.Add(v)
			return false
		})
	}
	return loops == 1 && elements.Contains(variable)
}

// takes notes a variable that is taken from an element.
func takes(to, from *ast.Term, bound, elements ast.VarSet) {
	v, isVar := to.Value.(ast.Var)
	if !isVar || bound.Contains(v) {
		return
	}
	switch from := from.Value.(type) {
	case ast.Var:
		if elements.Contains(from) {
			elements.Add(v)
		}
	case ast.Ref:
		head, _ := from[0].Value.(ast.Var)
		for _, operand := range from[1:] {
			if key, isVar := operand.Value.(ast.Var); isVar && !bound.Contains(key) {
				elements.Add(key)
			}
		}
		if elements.Contains(head) || unboundIn(ast.NewTerm(from), bound) > 0 {
			elements.Add(v)
		}
	}
}

// unboundIn counts the variables that a reference goes over.
func unboundIn(t *ast.Term, bound ast.VarSet) int {
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return 0
	}
	loops := 0
	for _, operand := range ref[1:] {
		ast.WalkVars(operand, func(v ast.Var) bool {
			if !bound.Contains(v) {
				loops++
			}
			return false
		})
	}
	return loops
}

// known says that an expression gives one answer at most: walk gives many, as may another
// comprehension that is gathered here, or a rule.
func known(expr *ast.Expr, terms []*ast.Term) bool {
	if expr.IsEquality() {
		return true
	}
	name := expr.Operator().String()
	builtin, found := ast.BuiltinMap[name]
	return name == string(limit.Weigh) || name == string(limit.WeighText) || found && !builtin.Relation &&
		len(terms) > 0
}
