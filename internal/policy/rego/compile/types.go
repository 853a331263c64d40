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
	// builtinLevels is how deep the type is nested that a built-in function gives, at most.
	builtinLevels = 3
)

// typing tells how deep the types of values are nested, through rules and variables, and adds up
// what it takes to compare them. What comes from the input has no type.
type typing struct {
	compiler *ast.Compiler
	rules    map[*ast.Rule]int
	work     float64
	problem  *ast.Error
}

// levelsOf are those of the types of variables.
type levelsOf map[ast.Var]int

// tooDeepTypes is a stage of the compiler: it says where types would be compared for too long. It
// comes before types are told.
func tooDeepTypes(compiler *ast.Compiler) *ast.Error {
	t := &typing{compiler: compiler, rules: map[*ast.Rule]int{}}
	for _, name := range slices.Sorted(maps.Keys(compiler.Modules)) {
		for _, r := range compiler.Modules[name].Rules {
			t.rule(r)
		}
	}
	return t.problem
}

// rule is how deep the type of a rule's value is nested, or of what a function gives.
func (t *typing) rule(r *ast.Rule) int {
	if known, found := t.rules[r]; found {
		return known
	}
	t.rules[r] = 0 // a rule never refers to itself
	known := levelsOf{}
	for _, argument := range r.Head.Args {
		known.bind(argument, 0)
	}
	t.body(known, r.Body)
	deepest := 0
	if r.Head.Key != nil {
		deepest = 1 + t.term(known, r.Head.Key)
	}
	if r.Head.Value != nil {
		deepest = max(deepest, t.term(known, r.Head.Value))
	}
	if r.Else != nil {
		deepest = max(deepest, t.rule(r.Else))
	}
	t.rules[r] = deepest
	return deepest
}

// bind sets the variables of a term that aren't known.
func (known levelsOf) bind(term *ast.Term, levels int) {
	ast.WalkTerms(term, func(part *ast.Term) bool {
		switch v := part.Value.(type) {
		case ast.Var:
			if _, found := known[v]; !found {
				known[v] = levels
			}
		case ast.Ref, *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension, ast.Call:
			return true
		}
		return false
	})
}

// compare adds what it takes to compare two types.
func (t *typing) compare(at *ast.Location, a, b int) {
	if t.work += math.Exp2(float64(min(a, b))); t.work > maxTypeWork && t.problem == nil {
		t.problem = ast.NewError(ast.CompileErr, at, "values are compared whose types are nested %d levels deep, or "+
			"many that are nested less: compare parts of them, or nest fewer values", min(a, b))
	}
}

func (t *typing) body(known levelsOf, body ast.Body) {
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

func (t *typing) operands(known levelsOf, expr *ast.Expr, terms []*ast.Term) {
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

// call is how deep the type is nested of what a call gives.
func (t *typing) call(known levelsOf, terms []*ast.Term) int {
	given := make([]int, 0, len(terms))
	for _, operand := range terms[1:] {
		given = append(given, t.term(known, operand))
	}
	name, isRef := terms[0].Value.(ast.Ref)
	if !isRef {
		return 0
	}
	gives := 0
	for _, r := range t.compiler.GetRules(name) {
		gives = max(gives, t.rule(r))
		for i := range min(len(given), len(r.Head.Args)) {
			t.compare(terms[0].Location, given[i], t.term(levelsOf{}, r.Head.Args[i]))
		}
		if output := len(r.Head.Args); output < len(given) {
			t.compare(terms[0].Location, given[output], t.rule(r))
		}
	}
	if _, builtin := ast.BuiltinMap[name.String()]; builtin {
		return builtinLevels
	}
	return gives
}

// term is how deep the type of a term is nested.
func (t *typing) term(known levelsOf, term *ast.Term) int {
	deepest := 0
	within := func(known levelsOf, parts ...*ast.Term) {
		for _, part := range parts {
			deepest = max(deepest, 1+t.term(known, part))
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
	return deepest
}

func (t *typing) comprehension(known levelsOf, v ast.Value, within func(levelsOf, ...*ast.Term)) {
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

// ref is how deep the type is nested of what a reference gives: each step goes down a level. What
// it looks up by is compared with the keys.
func (t *typing) ref(known levelsOf, ref ast.Ref) int {
	whole := 0
	if ref.HasPrefix(ast.DefaultRootRef) {
		for _, r := range t.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
			if len(r.Head.Args) == 0 {
				whole = max(whole, len(r.Ref())+t.rule(r))
			}
		}
	} else {
		whole = t.term(known, ref[0]) + 1
	}
	for _, operand := range ref[1:] {
		t.compare(operand.Location, t.term(known, operand), whole)
	}
	return max(whole-len(ref), 0)
}
