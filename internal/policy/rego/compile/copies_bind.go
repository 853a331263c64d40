// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// after is the scope once a body was evaluated. The compiler has put its expressions
// in an order in which whatever an expression needs is bound before it.
func (s *scope) after(body ast.Body) *scope {
	inner := s.inner()
	for _, expr := range body {
		inner.expression(expr)
	}
	return inner
}

func (s *scope) expression(expr *ast.Expr) {
	// What is asked for with another input, or with another rule, holds copies of it.
	factor := 1.0
	for _, with := range expr.With {
		factor = max(factor, s.weight(with.Value))
	}
	switch terms := expr.Terms.(type) {
	case *ast.Term:
		s.weight(terms)
	case *ast.Every:
		s.every(terms)
	case []*ast.Term:
		if expr.IsEquality() || expr.IsAssignment() {
			s.unify(terms[1], terms[2], factor)
			return
		}
		if answer := terms[len(terms)-1]; s.answers(terms) && s.large(answer) {
			s.compares = true
		}
		s.givesScalar(terms)
		weight := s.call(terms) * factor
		for _, operand := range terms[1:] {
			bindAll(s.bound, operand, weight) // the output, when it isn't bound
		}
	}
}

// every looks at what is asked of each element.
func (s *scope) every(e *ast.Every) {
	inner := s.inner()
	for _, variable := range []*ast.Term{e.Key, e.Value} {
		if variable != nil {
			bindAll(inner.bound, variable, s.weight(e.Domain))
		}
	}
	inner.after(e.Body)
}

// unify binds what is unbound on either side by the other one.
func (s *scope) unify(a, b *ast.Term, factor float64) {
	ofA, ofB := s.weight(a)*factor, s.weight(b)*factor
	s.compares = s.compares || s.large(a) && s.large(b)
	s.sameScalar(a, b)
	s.sameScalar(b, a)
	bindAll(s.bound, a, ofB)
	bindAll(s.bound, b, ofA)
}

// bindAll binds the variables of a term that aren't bound, but not those within
// comprehensions and references.
func bindAll(bound map[ast.Var]float64, t *ast.Term, weight float64) {
	ast.WalkTerms(t, func(part *ast.Term) bool {
		switch v := part.Value.(type) {
		case ast.Var:
			if _, known := bound[v]; !known {
				bound[v] = max(weight, 1)
			}
		case ast.Ref, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, ast.Call:
			return true
		}
		return false
	})
}

// answers says that the last operand of a call is what it gives.
func (s *scope) answers(terms []*ast.Term) bool {
	name, isRef := terms[0].Value.(ast.Ref)
	if !isRef {
		return false
	}
	if builtin, known := ast.BuiltinMap[name.String()]; known {
		return len(terms)-1 > len(builtin.Decl.FuncArgs().Args)
	}
	for _, r := range s.compiler.GetRules(name) {
		if len(terms)-1 > len(r.Head.Args) {
			return true
		}
	}
	return false
}

// givesScalar notes the variable that takes what a built-in gives, if it can't hold other
// values.
func (s *scope) givesScalar(terms []*ast.Term) {
	output, isVar := terms[len(terms)-1].Value.(ast.Var)
	name, isRef := terms[0].Value.(ast.Ref)
	if !isVar || !isRef || !s.answers(terms) {
		return
	}
	builtin, known := ast.BuiltinMap[name.String()]
	if _, bound := s.bound[output]; known && !bound && isScalar(builtin.Decl.Result()) {
		s.scalars[output] = true
	}
}

// sameScalar notes a variable that is bound to what can't hold other values.
func (s *scope) sameScalar(unbound, to *ast.Term) {
	v, isVar := unbound.Value.(ast.Var)
	if _, bound := s.bound[v]; !isVar || bound {
		return
	}
	switch value := to.Value.(type) {
	case ast.String, ast.Number, ast.Boolean, ast.Null:
		s.scalars[v] = true
	case ast.Var:
		s.scalars[v] = s.scalars[value]
	}
}

// large says that a term is a value, or has one in it, that is known already and may be
// of any size: to compare it is more than to bind a variable.
func (s *scope) large(t *ast.Term) bool {
	found := false
	ast.WalkTerms(t, func(part *ast.Term) bool {
		switch v := part.Value.(type) {
		case ast.Var:
			_, known := s.bound[v]
			found = found || known && !s.scalars[v]
		case ast.Ref, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, ast.Call:
			found = true
			return true
		}
		return found
	})
	return found
}
