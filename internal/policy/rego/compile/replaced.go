// SPDX-License-Identifier: Apache-2.0

package compile

import (
	"maps"
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
)

// replaced finds out whether rules ask for themselves by way of functions that are replaced.
type replaced struct {
	compiler *ast.Compiler
	// by is what takes a function's place, by its name: the first `with` of each value.
	by map[string]map[string]*ast.With
	// begun are the rules, functions and values that were looked at; it is true for those on the
	// way to the present one.
	begun map[any]bool
	// way are the functions on that way.
	way []step
}

// step is a function on the way, and what takes its place.
type step struct {
	function string
	with     *ast.With
}

// recursionByWith refuses a function that `with` has give the value of a rule which calls that
// function, or another one that is replaced so, by whatever way: the rule asks for itself then, and
// goes on until the stack of the process overflows, from which no program recovers. OPA 1.22.2
// looks for recursion in what rules name, not in what `with` puts in its place.
//
// What a function that takes another one's place calls isn't replaced: it may call that one.
func recursionByWith(c *ast.Compiler) *ast.Error {
	r := &replaced{compiler: c, by: map[string]map[string]*ast.With{}, begun: map[any]bool{}}
	names := slices.Sorted(maps.Keys(c.Modules))
	for _, name := range names {
		r.add(c.Modules[name])
	}
	if len(r.by) == 0 {
		return nil
	}
	for _, name := range names {
		for _, rule := range c.Modules[name].Rules {
			if err := r.rule(rule); err != nil {
				return err
			}
		}
	}
	return nil
}

// add collects the replacements of a module.
func (r *replaced) add(module *ast.Module) {
	ast.WalkExprs(module, func(e *ast.Expr) bool {
		for _, with := range e.With {
			target, value := refOf(with.Target), refOf(with.Value)
			if target != nil && value != nil && r.isFunction(target) && !r.isFunction(value) {
				r.put(target.String(), value.String(), with)
			}
		}
		return false
	})
}

func (r *replaced) put(function, value string, with *ast.With) {
	if r.by[function] == nil {
		r.by[function] = map[string]*ast.With{}
	}
	if r.by[function][value] == nil {
		r.by[function][value] = with
	}
}

func refOf(t *ast.Term) ast.Ref {
	ref, _ := t.Value.(ast.Ref)
	return ref
}

// isFunction says that a name is that of a function, of a policy or built in.
func (r *replaced) isFunction(ref ast.Ref) bool {
	if _, builtIn := ast.BuiltinMap[ref.String()]; builtIn {
		return true
	}
	return slices.ContainsFunc(r.compiler.GetRulesExact(ref), func(rule *ast.Rule) bool {
		return len(rule.Head.Args) > 0
	})
}

// rule goes on to all that a rule asks for. One that is on the way is there by way of a function:
// OPA's own check has found all other recursion.
func (r *replaced) rule(rule *ast.Rule) (err *ast.Error) {
	if unfinished, seen := r.begun[rule]; seen {
		return r.recursion(unfinished)
	}
	r.begun[rule] = true
	for _, name := range r.calledBy(rule) {
		if err == nil {
			err = r.function(name)
		}
	}
	for next := range r.compiler.Graph.Dependencies(rule) {
		if other, ok := next.(*ast.Rule); ok && err == nil {
			err = r.rule(other)
		}
	}
	r.begun[rule] = false
	return err
}

// calledBy are the functions of those that are replaced which a rule names, other than to replace them.
func (r *replaced) calledBy(rule *ast.Rule) (names []string) {
	var visitor *ast.GenericVisitor
	visitor = ast.NewGenericVisitor(func(x any) bool {
		switch x := x.(type) {
		case *ast.With:
			visitor.Walk(x.Value)
			return true
		case ast.Ref:
			if name := x.String(); len(r.by[name]) > 0 {
				names = append(names, name)
			}
		}
		return false
	})
	visitor.Walk(rule)
	return names
}

// recursion is the error where the way leads to what is on it.
func (r *replaced) recursion(unfinished bool) *ast.Error {
	if !unfinished || len(r.way) == 0 {
		return nil
	}
	last := r.way[len(r.way)-1]
	return ast.NewError(ast.RecursionErr, last.with.Loc(),
		"%s is replaced by %s, which calls it: a rule can't ask for itself, not even by way of `with`",
		last.function, last.with.Value)
}

// function goes on to what takes a function's place.
func (r *replaced) function(name string) *ast.Error {
	if unfinished, seen := r.begun[name]; seen {
		return r.recursion(unfinished)
	}
	r.begun[name] = true
	for _, value := range slices.Sorted(maps.Keys(r.by[name])) {
		r.way = append(r.way, step{name, r.by[name][value]})
		if err := r.value(r.by[name][value]); err != nil {
			return err
		}
		r.way = r.way[:len(r.way)-1]
	}
	r.begun[name] = false
	return nil
}

// given is a value as a key, apart from functions.
type given string

// value goes on to the rules that a value is of.
func (r *replaced) value(with *ast.With) *ast.Error {
	ref := refOf(with.Value)
	key := given(ref.String())
	if unfinished, seen := r.begun[key]; seen {
		return r.recursion(unfinished)
	}
	r.begun[key] = true
	for _, rule := range r.compiler.GetRulesDynamicWithOpts(ref, ast.RulesOptions{IncludeHiddenModules: true}) {
		if err := r.rule(rule); err != nil {
			return err
		}
	}
	r.begun[key] = false
	return nil
}
