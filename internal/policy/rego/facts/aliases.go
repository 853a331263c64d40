// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// aliases are the variables of a rule that are other names of parts of what is looked at: x
// of x := input.review. A variable that more than one equality concerns is compared, and so is
// no mere name.
type aliases struct {
	*reader
	// arguments are those of the function, with what they stand for.
	arguments map[ast.Var]argument
	// names are the others, with the term that each is another name of.
	names map[ast.Var]*ast.Term
	// by are the equalities that do no more than give such a name.
	by map[*ast.Expr]ast.Var
	// bound are the variables that something else than an equality binds, with how many do.
	bound map[ast.Var]int
}

// equality is one between two terms, of which one is a variable at least.
type equality struct {
	expr  *ast.Expr
	sides [2]*ast.Term
}

func newAliases(r *reader, rule *ast.Rule, arguments []argument) *aliases {
	a := &aliases{reader: r, arguments: map[ast.Var]argument{}, names: map[ast.Var]*ast.Term{},
		by: map[*ast.Expr]ast.Var{}, bound: boundOtherwise(rule)}
	for stage := rule; stage != nil; stage = stage.Else {
		for i, argument := range stage.Head.Args {
			if v, ok := argument.Value.(ast.Var); ok && i < len(arguments) {
				a.arguments[v] = arguments[i]
			}
		}
	}
	a.nameAll(rule, maps.Clone(a.bound))
	return a
}

// nameAll takes each equality of a rule that concerns a variable of which nothing else is said for its name. What
// concerns a variable besides is counted.
func (a *aliases) nameAll(rule *ast.Rule, concern map[ast.Var]int) {
	left := equalitiesOf(rule)
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
			named := a.spend(1) && a.name(e, concern)
			again = again || named
			return named
		})
	}
}

// boundOtherwise are the variables that something else than an equality binds, once for each: patterns among the
// arguments of a function, and the keys and values of every. An equality that concerns such a variable compares.
func boundOtherwise(rule *ast.Rule) map[ast.Var]int {
	bound := map[ast.Var]int{}
	all := func(t *ast.Term) {
		if t != nil {
			ast.WalkVars(t, func(v ast.Var) bool {
				bound[v]++
				return false
			})
		}
	}
	for stage := rule; stage != nil; stage = stage.Else {
		for _, argument := range stage.Head.Args {
			all(argument)
		}
	}
	ast.NewGenericVisitor(func(x any) bool {
		if every, ok := x.(*ast.Every); ok {
			all(every.Key)
			all(every.Value)
		}
		return false
	}).Walk(rule)
	return bound
}

// name takes an equality for one that gives a name, if no other concerns its variable.
func (a *aliases) name(e equality, concern map[ast.Var]int) bool {
	for i, side := range e.sides {
		v, ok := side.Value.(ast.Var)
		if _, isArgument := a.arguments[v]; !ok || isArgument || concern[v] != 1 {
			continue
		}
		other := e.sides[1-i]
		if a.leadsTo(other, v) {
			continue
		}
		a.names[v], a.by[e.expr] = other, v
		concern[v]--
		if w, ok := other.Value.(ast.Var); ok {
			concern[w]--
		}
		return true
	}
	return false
}

// leadsTo says that a term is a part of what a variable stands for: x of x = x.a, which compares and names nothing.
func (a *aliases) leadsTo(t *ast.Term, v ast.Var) bool {
	for t != nil && a.spend(1) {
		if ref, ok := t.Value.(ast.Ref); ok {
			t = ref[0]
		}
		w, ok := t.Value.(ast.Var)
		if !ok || w == v {
			return ok
		}
		t = a.names[w]
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

// of is what of the document a term is another name of; known is false when it is none.
func (a *aliases) of(t *ast.Term) (paths []path, known bool) {
	if !a.spend(1) {
		return nil, false
	}
	switch v := t.Value.(type) {
	case ast.Var:
		return a.ofVar(v)
	case ast.Ref:
		return a.ofRef(v)
	}
	return nil, false
}

func (a *aliases) ofVar(v ast.Var) (paths []path, known bool) {
	if len(a.root) == 1 && v == a.root[0].Value {
		return []path{{}}, true
	}
	if given, known := a.arguments[v]; known {
		return given.paths, len(given.paths) > 0
	}
	if named, found := a.names[v]; found {
		return a.of(named)
	}
	return nil, false
}

func (a *aliases) ofRef(ref ast.Ref) (paths []path, known bool) {
	if ref.HasPrefix(a.root) {
		return a.below([]path{{}}, ref[len(a.root):]), true
	}
	if paths, known = a.of(ref[0]); known {
		return a.below(paths, ref[1:]), true
	}
	return nil, false
}

// text is the text that a term is in whatever is judged: "a", or what a function is given for its argument.
func (a *aliases) text(t *ast.Term) (text string, known bool) {
	switch v := t.Value.(type) {
	case ast.String:
		return string(v), true
	case ast.Var:
		given := a.arguments[v]
		return given.text, given.isText && a.bound[v] == 1
	}
	return "", false
}

// key is the one that an operand of a reference is.
func (a *aliases) key(operand *ast.Term) string {
	key, isText := a.text(operand)
	if !isText || key == present {
		return anyKey
	}
	return key
}

// below are the paths of what stands under some keys.
func (a *aliases) below(paths []path, operands []*ast.Term) []path {
	out := make([]path, 0, len(paths))
	for _, p := range paths {
		if !a.spend(1 + len(operands)) {
			return nil
		}
		p = slices.Clone(p)
		for _, operand := range operands {
			p = append(p, a.key(operand))
		}
		out = append(out, p[:min(len(p), a.longest)])
	}
	return out
}
