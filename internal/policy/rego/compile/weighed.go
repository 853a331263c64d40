// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"

	"evenkeel.dev/evenkeel/internal/policy/rego/limit"
)

// weighGathered is a stage of the compiler: what a comprehension gathers is weighed before
// anything else is done with it. What rules gather is weighed when it is kept, all but
// that of an entry that is asked for by a pattern, which isn't.
func weighGathered(weighs *bool) func(*ast.Compiler) *ast.Error {
	return func(compiler *ast.Compiler) *ast.Error {
		for _, module := range compiler.Modules {
			for _, r := range module.Rules {
				w := &weighing{seen: ast.NewVarSet()}
				w.rule(r)
				*weighs = *weighs || w.calls
			}
		}
		return nil
	}
}

// weighing puts calls into a rule.
type weighing struct {
	// seen are the variables that may be bound already.
	seen ast.VarSet
	made int
	// calls says that there is one.
	calls bool
}

func (w *weighing) rule(r *ast.Rule) {
	for _, argument := range r.Head.Args {
		w.see(argument)
	}
	r.Body = w.body(r.Body)
	if r.Else != nil {
		w.rule(r.Else)
	}
}

func (w *weighing) see(x any) {
	ast.WalkVars(x, func(v ast.Var) bool {
		w.seen.Add(v)
		return false
	})
}

// body is one with the calls in it.
func (w *weighing) body(body ast.Body) ast.Body {
	out := make(ast.Body, 0, len(body))
	for _, expr := range body {
		w.within(expr)
		before, after := w.beside(expr)
		for _, e := range before {
			out.Append(e)
		}
		out.Append(expr)
		for _, e := range after {
			out.Append(e)
		}
		w.see(expr)
	}
	return out
}

// within looks into what an expression has of other bodies.
func (w *weighing) within(expr *ast.Expr) {
	ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.ArrayComprehension:
			outer := w.seen.Copy()
			x.Body = w.body(x.Body)
			w.element(x, outer)
		case *ast.SetComprehension:
			x.Body = w.body(x.Body)
		case *ast.ObjectComprehension:
			x.Body = w.body(x.Body)
		case *ast.Every:
			w.see(x.Key)
			w.see(x.Value)
			x.Body = w.body(x.Body)
		case *ast.Not:
			x.Body = w.body(x.Body)
		case *ast.LogicalAnd:
			x.Lhs, x.Rhs = w.body(x.Lhs), w.body(x.Rhs)
		case *ast.LogicalOr:
			x.Lhs, x.Rhs = w.body(x.Lhs), w.body(x.Rhs)
		default:
			return false
		}
		return true
	}).Walk(expr)
}

// element has each element of a list weighed as a text: OPA hashes all of them at once,
// when the last one is there.
func (w *weighing) element(x *ast.ArrayComprehension, outer ast.VarSet) {
	v, ok := x.Term.Value.(ast.Var)
	if !ok || len(x.Body) == 0 || givesOnce(x.Body, v, outer) {
		return
	}
	call := w.like(x.Body[len(x.Body)-1], ast.NewTerm(ast.Ref{ast.NewTerm(limit.WeighText)}), x.Term)
	call.With = nil
	x.Body.Append(call)
}

// beside gives what must come before an expression, and after it. The compiler has made
// each comprehension one side of an equality.
func (w *weighing) beside(expr *ast.Expr) (before, after []*ast.Expr) {
	terms, ok := expr.Terms.([]*ast.Term)
	if !ok || !expr.IsEquality() || len(terms) != 3 {
		return nil, nil
	}
	for i, side := range terms[1:] {
		if !gathers(side) {
			continue
		}
		if other := terms[2-i]; w.fresh(other) && !expr.Negated {
			return nil, []*ast.Expr{w.like(expr, ast.NewTerm(ast.Ref{ast.NewTerm(limit.Weigh)}), other)}
		}
		w.made++
		v := ast.VarTerm(fmt.Sprintf("gathered %d", w.made)).SetLocation(side.Location)
		before = append(before,
			w.like(expr, ast.NewTerm(ast.Equality.Ref()), v, side),
			w.like(expr, ast.NewTerm(ast.Ref{ast.NewTerm(limit.Weigh)}), v))
		terms[1+i] = v
	}
	return before, nil
}

// fresh says that a term is a variable that nothing has bound yet.
func (w *weighing) fresh(t *ast.Term) bool {
	v, ok := t.Value.(ast.Var)
	return ok && !w.seen.Contains(v)
}

// like is a call where an expression is.
func (w *weighing) like(expr *ast.Expr, terms ...*ast.Term) *ast.Expr {
	w.calls = true
	call := ast.NewExpr(terms)
	call.With, call.Location, call.Generated = expr.With, expr.Location, true
	return call
}

// gathers says that a term is evaluated to what is gathered.
func gathers(t *ast.Term) bool {
	ref, ok := t.Value.(ast.Ref)
	if !ok {
		return ast.IsComprehension(t.Value)
	}
	if !ref.HasPrefix(ast.DefaultRootRef) {
		return false
	}
	for _, operand := range ref[1:] {
		if _, isVar := operand.Value.(ast.Var); !isVar && !operand.IsGround() {
			return true
		}
	}
	return false
}
