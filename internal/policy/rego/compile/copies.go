// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/types"
)

// maxCopies is how many times one value may hold the same part. Twenty steps that
// each name the one before twice make a million: OPA writes such a value out, and
// compares it part by part, without ever asking whether it must stop.
const maxCopies = 1 << 10

// maxLookedAt bounds how many calls of functions are followed.
const maxLookedAt = 10_000

// copies counts how many times the values of a policy may hold one part: what is
// written as [x, x] holds x twice. Rego has no recursion, so that can be told before
// anything is evaluated. What loops gather isn't counted: it takes a step each.
type copies struct {
	compiler *ast.Compiler
	rules    map[*ast.Rule]float64
	calls    map[string]float64
	problem  *ast.Error
	looked   int
	// compares says that two values are compared which may both be large.
	compares bool
	// most is how many times any value may hold one part.
	most float64
}

// tooManyCopies is a stage of the compiler: it says where a value holds a part too many
// times. It comes before any stage that takes as long as the value is large.
func tooManyCopies(compiler *ast.Compiler) *ast.Error { return lookAt(compiler).problem }

func lookAt(compiler *ast.Compiler) *copies {
	c := &copies{compiler: compiler, rules: map[*ast.Rule]float64{}, calls: map[string]float64{}, most: 1}
	for _, name := range slices.Sorted(maps.Keys(compiler.Modules)) {
		for _, r := range compiler.Modules[name].Rules {
			if len(r.Head.Args) == 0 {
				c.rule(r)
			} else {
				c.function(r, nil)
			}
		}
	}
	return c
}

// rule counts in the value of a rule.
func (c *copies) rule(r *ast.Rule) float64 {
	if known, found := c.rules[r]; found {
		return known
	}
	c.rules[r] = 1 // a rule never refers to itself
	c.rules[r] = c.definition(r, map[ast.Var]float64{})
	return c.rules[r]
}

// function counts in the value of a function for arguments that count so much.
func (c *copies) function(r *ast.Rule, arguments []float64) float64 {
	key := fmt.Sprintf("%p%v", r, arguments)
	if known, found := c.calls[key]; found {
		return known
	}
	if c.looked++; c.looked > maxLookedAt {
		return math.Inf(1)
	}
	bound := map[ast.Var]float64{}
	for i, argument := range r.Head.Args {
		c.compares = c.compares || newScope(c, bound).large(argument) // the same as one before
		weight := 1.0
		if i < len(arguments) {
			weight = arguments[i]
		}
		bindAll(bound, argument, weight)
	}
	c.calls[key] = c.definition(r, bound)
	return c.calls[key]
}

// definition counts in what one definition of a rule gives, and those that come in
// its place (else).
func (c *copies) definition(r *ast.Rule, bound map[ast.Var]float64) float64 {
	s := newScope(c, bound).after(r.Body)
	weight := 0.0
	for _, term := range []*ast.Term{r.Head.Key, r.Head.Value} {
		if term != nil {
			weight += s.weight(term)
		}
	}
	if r.Else != nil {
		weight = max(weight, c.definition(r.Else, bound))
	}
	return max(weight, 1)
}

// check notes a value that holds too much.
func (c *copies) check(t *ast.Term, weight float64) float64 {
	c.most = max(c.most, weight)
	if weight > maxCopies && c.problem == nil {
		c.problem = ast.NewError(ast.CompileErr, t.Location,
			"this value may hold one part %.3g times, written out: at most %d are allowed; "+
				"don't build values from several copies of others that were built so", weight, maxCopies)
	}
	return weight
}

// referred counts in what a reference to rules gives: that of one rule, or of all of a
// package.
func (c *copies) referred(ref ast.Ref) float64 {
	byName := map[string]float64{}
	for _, r := range c.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
		if len(r.Head.Args) == 0 {
			name := r.Ref().GroundPrefix().String()
			byName[name] = max(byName[name], c.rule(r))
		}
	}
	weight := 0.0
	for _, w := range byName {
		weight += w
	}
	return max(weight, 1)
}

// scope is what is known of variables at one place. A variable that isn't known is
// bound by a loop over something that counts for 1.
type scope struct {
	*copies
	bound map[ast.Var]float64
	// scalars are the variables that can't hold other values: what a built-in of that
	// type gives, say.
	scalars map[ast.Var]bool
}

func newScope(c *copies, bound map[ast.Var]float64) *scope {
	return &scope{copies: c, bound: bound, scalars: map[ast.Var]bool{}}
}

// inner is a scope within this one.
func (s *scope) inner() *scope {
	return &scope{copies: s.copies, bound: maps.Clone(s.bound), scalars: maps.Clone(s.scalars)}
}

// weight counts in a term. What is written out itself counts for nothing: it is as long
// as its text.
func (s *scope) weight(t *ast.Term) float64 {
	weight := 0.0
	switch v := t.Value.(type) {
	case ast.Var:
		weight = 1
		if known, found := s.bound[v]; found {
			weight = known
		}
	case ast.Ref:
		weight = s.ref(v)
	case *ast.Array:
		weight = s.sum(slices.Collect(func(yield func(*ast.Term) bool) {
			v.Until(func(e *ast.Term) bool { return !yield(e) })
		})...)
	case ast.Set:
		weight = s.sum(v.Slice()...)
	case ast.Object:
		v.Foreach(func(key, value *ast.Term) { weight += s.sum(key, value) })
	case *ast.ArrayComprehension:
		weight = s.after(v.Body).weight(v.Term)
	case *ast.SetComprehension:
		weight = s.after(v.Body).weight(v.Term)
	case *ast.ObjectComprehension:
		weight = s.after(v.Body).sum(v.Key, v.Value)
	case ast.Call:
		weight = s.call(v)
	}
	return s.check(t, weight)
}

func (s *scope) sum(terms ...*ast.Term) (weight float64) {
	for _, t := range terms {
		weight += s.weight(t)
	}
	return weight
}

func (s *scope) ref(ref ast.Ref) float64 {
	if ref.HasPrefix(ast.DefaultRootRef) {
		s.index(ref)
		return s.referred(ref)
	}
	return max(s.weight(ref[0]), 1)
}

// index notes an index that is compared with each element that a rule gives. What one rule
// gives as a whole is looked up by its hash instead.
func (s *scope) index(ref ast.Ref) {
	if s.compares || !slices.ContainsFunc(ref[1:], s.large) {
		return
	}
	rules := s.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true})
	s.compares = slices.ContainsFunc(rules, func(r *ast.Rule) bool {
		return r.Head.RuleKind() == ast.MultiValue || !r.Head.Ref().IsGround()
	})
}

// call counts in what a call gives: what its arguments hold together, unless it is a
// text, a number or a truth value.
func (s *scope) call(terms []*ast.Term) float64 {
	name, isRef := terms[0].Value.(ast.Ref)
	if !isRef {
		return s.sum(terms[1:]...)
	}
	if builtin, known := ast.BuiltinMap[name.String()]; known {
		arguments := terms[1:min(1+len(builtin.Decl.FuncArgs().Args), len(terms))]
		weight := s.sum(arguments...)
		if isScalar(builtin.Decl.Result()) {
			return 0
		}
		return weight
	}
	weight := 1.0
	for _, r := range s.compiler.GetRules(name) {
		arguments := make([]float64, 0, len(r.Head.Args))
		for _, argument := range terms[1:min(1+len(r.Head.Args), len(terms))] {
			arguments = append(arguments, s.weight(argument))
		}
		weight = max(weight, s.function(r, arguments))
	}
	return weight
}

func isScalar(t types.Type) bool {
	switch t.(type) {
	case types.String, types.Number, types.Boolean, types.Null:
		return true
	default:
		return false
	}
}
