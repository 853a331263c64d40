// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"fmt"
	"strings"
	"sync"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Program is a policy that was compiled. It is immutable and safe for concurrent use.
type Program struct {
	functions []*function
	// byName and byPath find functions: by their names in the representation, and by the
	// paths of the rules that they were planned of, joined.
	byName, byPath map[string]int
	queries        map[string]*query
	// paths are the constant paths into the input that statements read.
	paths *paths
	// fieldsOnly says that statements read fields of the input, and never all of it.
	fieldsOnly bool
	machines   sync.Pool
}

// query is a plan: blocks that are run one after the other, and add to the results.
type query struct {
	blocks []step
	locals int
}

// Compile turns a policy in OPA's intermediate representation into a program. It errors when
// a statement isn't known, or names what the policy doesn't have.
func Compile(policy *ir.Policy) (*Program, error) {
	p := &Program{byName: map[string]int{}, byPath: map[string]int{}, queries: map[string]*query{}, paths: newPaths()}
	u := &unit{program: p, builtins: map[string]*ast.Builtin{}}
	u.constants(policy)
	if policy.Funcs != nil {
		for _, f := range policy.Funcs.Funcs {
			p.declare(f)
		}
		for i, f := range policy.Funcs.Funcs {
			if err := u.function(p.functions[i], f); err != nil {
				return nil, fmt.Errorf("function %s: %w", f.Name, err)
			}
		}
	}
	if policy.Plans != nil {
		for _, plan := range policy.Plans.Plans {
			q, err := u.query(plan)
			if err != nil {
				return nil, fmt.Errorf("plan %s: %w", plan.Name, err)
			}
			p.queries[plan.Name] = q
		}
	}
	p.keepCostly()
	p.fieldsOnly = p.readsFieldsOnly(policy)
	p.machines.New = func() any { return newMachine(p) }
	return p, nil
}

func (p *Program) declare(f *ir.Func) {
	index := len(p.functions)
	p.functions = append(p.functions, &function{index: index, name: f.Name, params: f.Params})
	p.byName[f.Name] = index
	if f.Path != nil {
		p.byPath[joined(f.Path)] = index
	}
}

// joined is a path as a key: no part of a path holds the separator by accident, because its
// length stands before it.
func joined(path []string) string {
	var b strings.Builder
	for _, part := range path {
		fmt.Fprintf(&b, "%d:%s", len(part), part)
	}
	return b.String()
}

// Rule names a rule without arguments, to be asked by Evaluation.Rule.
type Rule struct{ index int }

// Rule finds the rule at a path below data, as in "kubernetes", "deny". It is false when the
// policy was planned without it.
func (p *Program) Rule(path ...string) (Rule, bool) {
	index, ok := p.byPath[joined(append([]string{"g0"}, path...))]
	if !ok || len(p.functions[index].params) != 2 {
		return Rule{}, false
	}
	return Rule{index: index}, true
}

// unit is what the compilation of one policy shares.
type unit struct {
	program  *Program
	strings  []*ast.Term
	numbers  []*ast.Term
	files    []string
	builtins map[string]*ast.Builtin
}

func (u *unit) constants(policy *ir.Policy) {
	if policy.Static == nil {
		return
	}
	for _, s := range policy.Static.Strings {
		u.strings = append(u.strings, ast.StringTerm(s.Value))
		u.numbers = append(u.numbers, nil)
	}
	for _, f := range policy.Static.Files {
		u.files = append(u.files, f.Value)
	}
	for _, b := range policy.Static.BuiltinFuncs {
		known, ok := ast.BuiltinMap[b.Name]
		if !ok {
			known = &ast.Builtin{Name: b.Name, Decl: b.Decl}
		}
		u.builtins[b.Name] = known
	}
}

// number is the constant number that is written as the string of an index.
func (u *unit) number(index int) *ast.Term {
	if u.numbers[index] == nil {
		u.numbers[index] = ast.NewTerm(ast.Number(u.strings[index].Value.(ast.String)))
	}
	return u.numbers[index]
}

func (u *unit) function(to *function, f *ir.Func) (err error) {
	b := newBody(u, f.Blocks, f.Params, f.Return)
	to.locals, to.conflict, to.rebuilds = b.locals, conflictOf(f), b.uses.aliased
	b.function = to
	to.blocks, err = b.outermost(f.Blocks)
	return err
}

func (u *unit) query(plan *ir.Plan) (*query, error) {
	b := newBody(u, plan.Blocks, []ir.Local{ir.Input, ir.Data}, ir.Data)
	blocks, err := b.outermost(plan.Blocks)
	return &query{locals: b.locals, blocks: blocks}, err
}

// implementation is what runs for a built-in function; nil for one that each evaluation
// brings along.
func implementation(name string) topdown.BuiltinFunc { return topdown.GetBuiltin(name) }

// paths are constant paths into the input, each the path of another and one key more. The
// first is the input itself.
type paths struct {
	parents []int
	keys    []*ast.Term
	index   map[pathKey]int
}

type pathKey struct {
	parent int
	key    ast.Value
}

func newPaths() *paths {
	return &paths{parents: []int{-1}, keys: []*ast.Term{nil}, index: map[pathKey]int{}}
}

// below is the number of the path with more keys, which are scalars.
func (p *paths) below(parent int, keys []*ast.Term) int {
	for _, key := range keys {
		k := pathKey{parent, key.Value}
		at, ok := p.index[k]
		if !ok {
			at = len(p.keys)
			p.parents, p.keys = append(p.parents, parent), append(p.keys, key)
			p.index[k] = at
		}
		parent = at
	}
	return parent
}
