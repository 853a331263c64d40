// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"github.com/open-policy-agent/opa/v1/ast"
)

// VerdictReadsOf is what of the input decides whether rules find anything. What a violation alone tells, such as the
// name in its message, is read only for whether it is there: without it there would be no violation. Of elements that
// are gathered in turn is read what is used of each, and their order: Reads.Orders, where they stand in one of the
// documents, of which each stands at several places of the input.
func VerdictReadsOf(compiler *ast.Compiler, documents [][][]string, rules ...ast.Ref) Reads {
	r := newReader(ast.InputRootRef, longestPath, compiler)
	if r.orders = map[string][]path{}; !replaces(compiler) {
		r.documents = documents
	}
	for _, ref := range rules {
		for _, rule := range compiler.GetRulesExact(ref) {
			// What another rule finds in it may be found for another input: deny["x"] with input.object as {…}.
			r.tells[rule] = rule.Head.RuleKind() == ast.MultiValue && rule.Head.Key != nil &&
				len(compiler.Graph.Dependents(rule)) == 0
		}
	}
	return r.follow(rules)
}

// replaces says that rules replace anything by another value (with).
func replaces(compiler *ast.Compiler) (found bool) {
	for _, module := range compiler.Modules {
		ast.WalkExprs(module, func(e *ast.Expr) bool {
			found = found || len(e.With) > 0
			return found
		})
	}
	return found
}

// message is the part of a rule that does nothing but make what its elements tell.
type message struct {
	// made are its expressions, each with what it makes something of.
	made map[*ast.Expr]*ast.Term
	// by are the expressions that may make what a variable stands for.
	by map[ast.Var][]made
	// all counts where each variable stands, and told where it stands in what is told.
	all, told map[ast.Var]int
}

// made is an expression that makes something of a term.
type made struct {
	expr *ast.Expr
	of   *ast.Term
}

// messageOf finds, from the element back, the expressions whose result stands in what is told, and nowhere else: where
// none of them can fail, they decide nothing.
func messageOf(rule *ast.Rule) map[*ast.Expr]*ast.Term {
	m := &message{made: map[*ast.Expr]*ast.Term{}, by: map[ast.Var][]made{}, all: map[ast.Var]int{},
		told: map[ast.Var]int{}}
	ast.WalkVars(rule, func(v ast.Var) bool {
		m.all[v]++
		return false
	})
	for _, e := range rule.Body {
		for result, of := range makes(e) {
			m.by[result] = append(m.by[result], made{e, of})
		}
	}
	m.tell(rule.Head.Key)
	return m.made
}

// tell takes a term for a part of what is told.
func (m *message) tell(t *ast.Term) {
	left := []*ast.Term{t}
	for len(left) > 0 {
		next := left[len(left)-1]
		left = left[:len(left)-1]
		ast.WalkVars(next, func(v ast.Var) bool {
			if m.told[v]++; m.all[v] != m.told[v]+1 {
				return false
			}
			for _, by := range m.by[v] {
				if m.made[by.expr] == nil {
					m.made[by.expr] = by.of
					left = append(left, by.of)
				}
			}
			return false
		})
	}
}

// makes are the variables that an expression may do no more than make, each with what it makes it of: message of
// message = other, and of sprintf("…", […], message), which has a result whatever the list holds.
func makes(e *ast.Expr) map[ast.Var]*ast.Term {
	terms, isCall := e.Terms.([]*ast.Term)
	if !isCall || e.Negated || len(e.With) > 0 {
		return nil
	}
	results := map[ast.Var]*ast.Term{}
	may := func(result, of *ast.Term) {
		if v, isVar := result.Value.(ast.Var); isVar && isPlain(of) {
			results[v] = of
		}
	}
	switch {
	case e.IsEquality() && len(terms) == 3:
		may(terms[1], terms[2])
		may(terms[2], terms[1])
	case formats(terms):
		may(terms[3], terms[2])
	}
	return results
}

// formats says that a call is that of sprintf with a text, a list and what holds the result.
func formats(terms []*ast.Term) bool {
	if len(terms) != 4 || !terms[0].Equal(ast.NewTerm(ast.Sprintf.Ref())) {
		return false
	}
	_, isText := terms[1].Value.(ast.String)
	_, isList := terms[2].Value.(*ast.Array)
	return isText && isList
}

// isPlain says that a term is made of texts, numbers and variables alone, and so always has a value.
func isPlain(t *ast.Term) bool {
	plain := true
	ast.WalkTerms(t, func(t *ast.Term) bool {
		plain = plain && !isComputed(t.Value)
		return !plain
	})
	return plain
}

// isComputed says that what a term stands for must be found out.
func isComputed(x any) bool {
	switch x.(type) {
	case ast.Ref, ast.Call, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension,
		*ast.TemplateString:
		return true
	}
	return false
}

// tell notes what is told: that it is there, and nothing more of it.
func (b *body) tell(t *ast.Term) {
	ast.NewGenericVisitor(func(x any) bool {
		if !b.spend(1) {
			return true
		}
		v, isVar := x.(ast.Var)
		switch {
		case isVar:
			if paths, known := b.of(ast.NewTerm(v)); known {
				b.there(paths...)
			}
		case isComputed(x):
			b.use(x)
		default:
			return false
		}
		return true
	}).Walk(t)
}
