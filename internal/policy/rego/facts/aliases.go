// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// aliases are the variables of a rule that are other names of parts of the input: x of
// x := input.review. A variable that more than one equality concerns is compared, and so is
// no mere name.
type aliases struct {
	// arguments are those of the function, with what they stand for.
	arguments map[ast.Var][]path
	// names are the others, with the term that each is another name of.
	names map[ast.Var]*ast.Term
	// by are the equalities that do no more than give such a name.
	by map[*ast.Expr]ast.Var
}

// equality is one between two terms, of which one is a variable at least.
type equality struct {
	expr  *ast.Expr
	sides [2]*ast.Term
}

func newAliases(rule *ast.Rule, arguments [][]path) *aliases {
	a := &aliases{arguments: map[ast.Var][]path{}, names: map[ast.Var]*ast.Term{}, by: map[*ast.Expr]ast.Var{}}
	for r := rule; r != nil; r = r.Else {
		for i, argument := range r.Head.Args {
			if v, ok := argument.Value.(ast.Var); ok && i < len(arguments) {
				a.arguments[v] = arguments[i]
			}
		}
	}
	left := equalitiesOf(rule)
	concern := map[ast.Var]int{}
	for _, e := range left {
		for _, side := range e.sides {
			if v, ok := side.Value.(ast.Var); ok {
				concern[v]++
			}
		}
	}
	for again := true; again; {
		again = false
		left = slices.DeleteFunc(left, func(e equality) bool {
			named := a.name(e, concern)
			again = again || named
			return named
		})
	}
	return a
}

// name takes an equality for one that gives a name, if no other concerns its variable.
func (a *aliases) name(e equality, concern map[ast.Var]int) bool {
	for i, side := range e.sides {
		v, ok := side.Value.(ast.Var)
		if _, isArgument := a.arguments[v]; !ok || isArgument || concern[v] != 1 {
			continue
		}
		other := e.sides[1-i]
		a.names[v], a.by[e.expr] = other, v
		concern[v]--
		if w, ok := other.Value.(ast.Var); ok {
			concern[w]--
		}
		return true
	}
	return false
}

// equalitiesOf are all in a rule, in what stands in place of it (else), and in comprehensions.
func equalitiesOf(rule *ast.Rule) []equality {
	var found []equality
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		terms, ok := e.Terms.([]*ast.Term)
		if !ok || len(terms) != 3 || !e.IsEquality() {
			return false
		}
		_, left := terms[1].Value.(ast.Var)
		_, right := terms[2].Value.(ast.Var)
		if left || right {
			found = append(found, equality{expr: e, sides: [2]*ast.Term{terms[1], terms[2]}})
		}
		return false
	})
	return found
}

// of is what of the input a term is another name of; known is false when it is none.
func (a *aliases) of(t *ast.Term) (paths []path, known bool) {
	switch v := t.Value.(type) {
	case ast.Var:
		if v == ast.InputRootDocument.Value {
			return []path{{}}, true
		}
		if paths, known := a.arguments[v]; known {
			return paths, len(paths) > 0
		}
		if named, found := a.names[v]; found {
			return a.of(named)
		}
	case ast.Ref:
		if paths, known = a.of(v[0]); known {
			return below(paths, v[1:]), true
		}
	}
	return nil, false
}

// below are the paths of what stands under some keys.
func below(paths []path, operands []*ast.Term) []path {
	out := make([]path, 0, len(paths))
	for _, p := range paths {
		p = slices.Clone(p)
		for _, operand := range operands {
			key, isText := operand.Value.(ast.String)
			if !isText {
				key = anyKey
			}
			p = append(p, string(key))
		}
		out = append(out, p[:min(len(p), longestPath)])
	}
	return out
}
