// SPDX-License-Identifier: Apache-2.0

package planner

import (
	"fmt"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// NeedsTopdown says why rules of compiled modules must be left to topdown: OPA's planner
// gives them another meaning. It is empty when there is no such rule.
//
// The planner makes one function of all rules whose names begin alike, where one of them has
// a variable in its head. To topdown `p.a contains 1` is a rule of its own beside `p[x]
// contains y`: an empty set where it has no elements, and no part of data.p to be found by
// its variable's other values.
func NeedsTopdown(compiler *ast.Compiler) string {
	variable := map[string]*ast.Rule{}
	var rules []*ast.Rule
	for _, module := range compiler.Modules {
		for _, rule := range module.Rules {
			rules = append(rules, rule)
			if prefix := rule.Ref().StringPrefix(); len(prefix) < len(rule.Ref()) {
				variable[prefix.String()] = rule
			}
		}
	}
	var problems []string
	looks := slices.ContainsFunc(rules, func(r *ast.Rule) bool { return looksUpData(compiler, r) })
	for _, rule := range rules {
		problems = append(problems, problemsOf(rule)...)
		if e := replacesData(compiler, rule); looks && e != nil {
			problems = append(problems, fmt.Sprintf("%s replaces a part of data in %s, beside what isn't replaced",
				rule.Ref(), e))
		}
		if e := functionBeforeDocument(compiler, rule); e != nil {
			problems = append(problems, fmt.Sprintf("%s replaces a function before input or data in %s", rule.Ref(), e))
		}
		if ref := negatedLookup(compiler, rule); ref != nil {
			problems = append(problems, fmt.Sprintf("%s negates %s, which may be any of some rules", rule.Ref(),
				ref))
		}
		prefix := rule.Ref().StringPrefix()
		for n := 1; n < len(prefix); n++ {
			if other, ok := variable[prefix[:n].String()]; ok {
				problems = append(problems, fmt.Sprintf("%s is a rule of its own below %s", rule.Ref(), other.Ref()))
			}
		}
	}
	slices.Sort(problems)
	return strings.Join(slices.Compact(problems), "; ")
}

// fits reports that a number is one of 64 bits: collections are compared by their hash first.
func fits(number ast.Number) bool {
	_, ok := number.Float64()
	return ok
}

// problemsOf are those of a rule alone.
func problemsOf(rule *ast.Rule) (problems []string) {
	if constantAfterName(rule) {
		problems = append(problems, fmt.Sprintf("%s has a constant in its name that is no text", rule.Ref()))
	}
	ast.WalkTerms(rule, func(t *ast.Term) bool {
		number, ok := t.Value.(ast.Number)
		if ok = ok && !fits(number); ok {
			problems = append(problems,
				fmt.Sprintf("%s has the number %s, which hashes unlike equal ones", rule.Ref(), t))
		}
		return ok
	})
	if literal := literalOfVariables(rule); literal != nil {
		problems = append(problems,
			fmt.Sprintf("%s writes %s, of which topdown takes equal parts for different ones", rule.Ref(), literal))
	}
	if call := negatedRelation(rule); call != nil {
		problems = append(problems, fmt.Sprintf("%s negates %s, which has many answers", rule.Ref(), call))
	}
	if term := leftOut(rule); term != nil {
		problems = append(problems,
			fmt.Sprintf("%s has %s for an expression, which only topdown evaluates", rule.Ref(), term))
	}
	return problems
}

// leftOut is an expression of a rule that is a comprehension and nothing else; nil for none. It always holds, so
// that OPA's planner leaves it out (planExprTerm of v1.22.2), and with it what goes wrong in it, which topdown
// reports.
func leftOut(rule *ast.Rule) (found *ast.Term) {
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		if term, alone := e.Terms.(*ast.Term); alone {
			switch term.Value.(type) {
			case *ast.ArrayComprehension, *ast.SetComprehension, *ast.ObjectComprehension:
				found = term
			}
		}
		return found != nil
	})
	return found
}

// functionBeforeDocument is an expression of a rule that replaces a function and then, by a later `with`, input, data
// or a part of them; nil for none. OPA's planner numbers the latter without the former (planWithRec of v1.22.2), and
// so gives the value to the document that stands in its place.
func functionBeforeDocument(compiler *ast.Compiler, rule *ast.Rule) (found *ast.Expr) {
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		function := false
		for _, w := range e.With {
			target, ok := w.Target.Value.(ast.Ref)
			switch {
			case !ok:
			case replacesFunction(compiler, target):
				function = true
			case function && found == nil:
				found = e
			}
		}
		return found != nil
	})
	return found
}

// replacesData is an expression of a rule that replaces data or a part of it, a rule among them; nil for none. Topdown
// goes on to take numbers for names, and texts for places in lists, in what isn't replaced and not in what is
// (eval.Resolve), and a compiled rule can't tell one from the other.
func replacesData(compiler *ast.Compiler, rule *ast.Rule) (found *ast.Expr) {
	ast.WalkExprs(rule, func(e *ast.Expr) bool {
		for _, w := range e.With {
			target, ok := w.Target.Value.(ast.Ref)
			if ok && target[0].Equal(ast.DefaultRootDocument) && !replacesFunction(compiler, target) {
				found = e
			}
		}
		return found != nil
	})
	return found
}

// looksUpData says that a rule looks up by a key that may be no name what no rule gives, or may not give.
func looksUpData(compiler *ast.Compiler, rule *ast.Rule) (reads bool) {
	ast.WalkRefs(rule, func(ref ast.Ref) bool {
		if ref[0].Equal(ast.DefaultRootDocument) {
			reads = reads || len(ref.StringPrefix()) < len(ref) &&
				len(compiler.GetRulesForVirtualDocument(ref.ConstantPrefix())) == 0
		}
		return reads
	})
	return reads
}

func replacesFunction(compiler *ast.Compiler, target ast.Ref) bool {
	if target[0].Equal(ast.InputRootDocument) {
		return false
	}
	return !target[0].Equal(ast.DefaultRootDocument) ||
		slices.ContainsFunc(compiler.GetRulesExact(target), func(r *ast.Rule) bool { return len(r.Head.Args) > 0 })
}

// constantAfterName says that a rule's name goes on with a constant that is no text.
func constantAfterName(rule *ast.Rule) bool {
	return slices.ContainsFunc(rule.Ref()[1:], func(t *ast.Term) bool {
		_, text := t.Value.(ast.String)
		return !text && t.IsGround()
	})
}

// literalOfVariables is a set or an object that a rule writes down with variables among its
// elements or keys; nil for none. topdown goes through them one by one, equal or not, until the
// whole is put into something else.
func literalOfVariables(rule *ast.Rule) (found *ast.Term) {
	ast.WalkTerms(rule, func(t *ast.Term) bool {
		switch v := t.Value.(type) {
		case ast.Set:
			if v.Len() > 1 && !v.IsGround() {
				found = t
			}
		case ast.Object:
			if v.Len() > 1 && slices.ContainsFunc(v.Keys(), func(key *ast.Term) bool { return !key.IsGround() }) {
				found = t
			}
		}
		return found != nil
	})
	return found
}
