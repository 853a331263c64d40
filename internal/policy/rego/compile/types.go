// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

const (
	// maxTypeWork bounds what OPA's type checker takes for comparing the types of collections: it
	// goes back and forth at each level, so that each doubles it. So much takes it about a second.
	maxTypeWork = 1 << 25
	// maxCopies is how many times a type may hold the same part, and maxTypeDepth how deep it may be nested, through
	// rules and variables. Ten rules that each name the one before twice make a thousand.
	maxCopies, maxTypeDepth = 1 << 10, 256
	// builtinLevels is how deep the type is nested that a built-in function gives, at most.
	builtinLevels = 3
)

// shape is how deep a type is nested, and how many times it may hold one part.
type shape struct {
	levels int
	copies float64
}

// typing finds the shapes of the types of values, through rules and variables, and adds up
// what it takes to compare them. What comes from the input has no type.
type typing struct {
	compiler *ast.Compiler
	rules    map[*ast.Rule]shape
	work     float64
	problem  *ast.Error
}

// shapes are those of the types of variables.
type shapes map[ast.Var]shape

// tooDeepTypes is a stage of the compiler: it reports where types would be compared for too long. It
// comes before types are checked.
func tooDeepTypes(compiler *ast.Compiler) *ast.Error {
	t := &typing{compiler: compiler, rules: map[*ast.Rule]shape{}}
	for _, name := range slices.Sorted(maps.Keys(compiler.Modules)) {
		for _, r := range compiler.Modules[name].Rules {
			t.rule(r)
		}
	}
	return t.problem
}

// larger is a shape that is as large as two together, one in place of the other.
func larger(a, b shape) shape { return shape{max(a.levels, b.levels), max(a.copies, b.copies)} }

// rule is the shape of a rule's value, or of what a function gives.
func (t *typing) rule(r *ast.Rule) shape {
	if known, found := t.rules[r]; found {
		return known
	}
	t.rules[r] = shape{} // a rule never refers to itself
	known := shapes{}
	for _, argument := range r.Head.Args {
		known.bind(argument, shape{})
	}
	t.body(known, r.Body)
	var of shape
	if r.Head.Key != nil {
		of = t.within(of, t.term(known, r.Head.Key))
	}
	if r.Head.Value != nil {
		of = larger(of, t.term(known, r.Head.Value))
	}
	if r.Else != nil {
		of = larger(of, t.rule(r.Else))
	}
	of.copies = max(of.copies, 1)
	t.rules[r] = of
	return of
}

// check reports a value that is too large.
func (t *typing) check(at *ast.Location, of shape) shape {
	if t.problem == nil && (of.copies > maxCopies || of.levels > maxTypeDepth) {
		t.problem = ast.NewError(ast.CompileErr, at, "this value may hold one part %.3g times, written out, and its "+
			"depth is %d: the limits are %d and %d; don't build values from several copies of "+
			"others that were built so",
			of.copies, of.levels, maxCopies, maxTypeDepth)
	}
	return of
}

// within is the shape of a collection that holds another part.
func (*typing) within(collection, part shape) shape {
	return shape{max(collection.levels, 1+part.levels), collection.copies + part.copies}
}

// bind sets the variables of a term that aren't known.
func (known shapes) bind(term *ast.Term, to shape) {
	to.copies = max(to.copies, 1)
	ast.WalkTerms(term, func(part *ast.Term) bool {
		switch v := part.Value.(type) {
		case ast.Var:
			if _, found := known[v]; !found {
				known[v] = to
			}
		case ast.Ref, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, ast.Call:
			return true
		}
		return false
	})
}

// compare adds what it takes to compare two types.
func (t *typing) compare(at *ast.Location, a, b shape) {
	levels := min(a.levels, b.levels)
	t.work += math.Exp2(float64(levels)) * max(1, min(a.copies, b.copies))
	if t.work > maxTypeWork && t.problem == nil {
		t.problem = ast.NewError(ast.CompileErr, at, "values are compared whose types are nested %d levels deep, or "+
			"many that are nested less: compare parts of them, or nest fewer values", levels)
	}
}

func (t *typing) body(known shapes, body ast.Body) {
	for _, expr := range body {
		for _, with := range expr.With {
			t.term(known, with.Value)
		}
		switch terms := expr.Terms.(type) {
		case *ast.Term:
			t.term(known, terms)
		case *ast.Every:
			inner := maps.Clone(known)
			for _, variable := range []*ast.Term{terms.Key, terms.Value} {
				if variable != nil {
					inner.bind(variable, t.term(known, terms.Domain))
				}
			}
			t.body(inner, terms.Body)
		case []*ast.Term:
			t.operands(known, expr, terms)
		}
	}
}

func (t *typing) operands(known shapes, expr *ast.Expr, terms []*ast.Term) {
	if expr.IsEquality() || expr.IsAssignment() {
		a, b := t.term(known, terms[1]), t.term(known, terms[2])
		t.compare(expr.Location, a, b)
		known.bind(terms[1], b)
		known.bind(terms[2], a)
		return
	}
	gives := t.call(known, terms)
	for _, operand := range terms[1:] {
		known.bind(operand, gives) // the output, when it isn't bound
	}
}

// call is the shape of what a call gives.
func (t *typing) call(known shapes, terms []*ast.Term) (gives shape) {
	given := make([]shape, 0, len(terms))
	for _, operand := range terms[1:] {
		given = append(given, t.term(known, operand))
	}
	name, isRef := terms[0].Value.(ast.Ref)
	if !isRef {
		return gives
	}
	for _, r := range t.compiler.GetRules(name) {
		gives = larger(gives, t.rule(r))
		for i := range min(len(given), len(r.Head.Args)) {
			t.compare(terms[0].Location, given[i], t.term(shapes{}, r.Head.Args[i]))
		}
		if output := len(r.Head.Args); output < len(given) {
			t.compare(terms[0].Location, given[output], t.rule(r))
		}
	}
	if _, builtin := ast.BuiltinMap[name.String()]; builtin {
		return shape{builtinLevels, 1}
	}
	return gives
}

// term is the shape of the type of a term. What is written down itself is as large as its text, and counts for nothing.
func (t *typing) term(known shapes, term *ast.Term) (of shape) {
	within := func(known shapes, parts ...*ast.Term) {
		for _, part := range parts {
			of = t.within(of, t.term(known, part))
		}
	}
	switch v := term.Value.(type) {
	case ast.Var:
		return known[v]
	case ast.Ref:
		return t.ref(known, v)
	case ast.Call:
		return t.call(known, v)
	case *ast.Array:
		v.Foreach(func(e *ast.Term) { within(known, e) })
	case ast.Set:
		v.Foreach(func(e *ast.Term) { within(known, e) })
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) { within(known, key, value) })
	default:
		t.comprehension(known, v, within)
	}
	return t.check(term.Location, of)
}

func (t *typing) comprehension(known shapes, v ast.Value, within func(shapes, ...*ast.Term)) {
	var body ast.Body
	var terms []*ast.Term
	switch v := v.(type) {
	case *ast.ArrayComprehension:
		body, terms = v.Body, []*ast.Term{v.Term}
	case *ast.SetComprehension:
		body, terms = v.Body, []*ast.Term{v.Term}
	case *ast.ObjectComprehension:
		body, terms = v.Body, []*ast.Term{v.Key, v.Value}
	default:
		return
	}
	inner := maps.Clone(known)
	t.body(inner, body)
	within(inner, terms...)
}

// ref is the shape of what a reference gives: each step goes down a level. What it looks up by is compared with the
// keys.
func (t *typing) ref(known shapes, ref ast.Ref) (whole shape) {
	if ref.HasPrefix(ast.DefaultRootRef) {
		for _, r := range t.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
			if len(r.Head.Args) == 0 {
				of := t.rule(r)
				of.levels += len(r.Ref())
				whole = larger(whole, of)
			}
		}
	} else {
		whole = t.term(known, ref[0])
		whole.levels++
	}
	for _, operand := range ref[1:] {
		t.compare(operand.Location, t.term(known, operand), whole)
	}
	whole.levels = max(whole.levels-len(ref), 0)
	return whole
}
