// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// Markers among terms; no policy ever sees one.
var (
	// absent is kept in place of a value that is known to be undefined.
	absent = &ast.Term{} //nolint:gochecknoglobals // a marker, never changed
	// fields stands for an input of which nothing but its fields is read.
	fields = &ast.Term{} //nolint:gochecknoglobals // a marker, never changed
	// stopped is what a call gives when something went wrong.
	stopped = &ast.Term{} //nolint:gochecknoglobals // a marker, never changed
)

// machine runs a program. It is used by one evaluation at a time, and again afterwards.
type machine struct {
	program *Program
	ctx     context.Context
	options *Options
	input   *ast.Term
	// inputs are the values at the program's paths into the input, as far as they were
	// looked up.
	inputs []*ast.Term
	level  *level
	// stack holds the frames from used on.
	stack []*ast.Term
	used  int
	depth int
	// value is what the function that has just returned gives, and results are those of
	// a query.
	value   *ast.Term
	results []*ast.Term
	// owned are the collections that rules with variables in their heads have made, and
	// haven't returned yet: these alone may they change.
	owned map[ast.Value]bool
	// pile are the elements of arrays that are being gathered.
	pile []*ast.Term
	// kept are what functions gave, of which so many are in use.
	kept     []*kept
	keptUsed int
	// objects are iterators, of which some are in use.
	objects   []*iterator
	iterators int
	calls     builtinCalls
	budget
	err error
}

// firstStack is how many registers a machine begins with.
const firstStack = 1024

func newMachine(p *Program) *machine {
	m := &machine{program: p, inputs: make([]*ast.Term, len(p.paths.keys)), stack: make([]*ast.Term, firstStack),
		owned: map[ast.Value]bool{}, level: &level{rules: make([]*ast.Term, len(p.functions))}}
	m.calls.take, m.calls.gather, m.calls.cache = m.calls.one, m.another, builtins.Cache{}
	return m
}

// mark is where the stack was before a call.
type mark struct {
	stack []*ast.Term
	used  int
}

// push makes a frame of so many registers, all of them undefined.
func (m *machine) push(size int) (frame, mark) {
	before := mark{m.stack, m.used}
	if m.used+size > len(m.stack) {
		m.stack, m.used = make([]*ast.Term, max(firstStack, 2*len(m.stack), size)), 0
	}
	f := frame(m.stack[m.used : m.used+size : m.used+size])
	m.used += size
	return f, before
}

// pop gives a frame up.
func (m *machine) pop(before mark, f frame) {
	clear(f)
	m.stack, m.used = before.stack, before.used
}

func (m *machine) fail(err error) outcome {
	m.err = err
	return failed
}

// begin prepares for an evaluation.
func (m *machine) begin(ctx context.Context, o *Options) {
	m.ctx, m.options, m.input = ctx, o, o.Input
	if m.input == nil && m.program.fieldsOnly && o.Fields != nil {
		m.input = fields
	}
	m.level.input, m.level.data = m.input, o.Data
	m.budget.begin(o)
	m.calls.begin(ctx, o)
}

// end forgets everything of an evaluation.
func (m *machine) end() {
	clear(m.inputs)
	clear(m.level.rules)
	clear(m.level.calls)
	clear(m.owned)
	clear(m.pile)
	for _, k := range m.kept[:m.keptUsed] {
		k.forget()
	}
	m.pile, m.keptUsed = m.pile[:0], 0
	for _, i := range m.objects {
		i.loop, i.f = nil, nil
	}
	m.level.input, m.level.data, m.level.outer = nil, nil, nil
	m.ctx, m.options, m.input, m.value, m.err = nil, nil, nil, nil, nil
	m.results, m.iterators, m.depth, m.used = nil, 0, 0, 0
	m.calls.end()
}

// rebuilt is a value whose owned parts are made anew, so that their hashes are those of
// what they hold by now.
func (m *machine) rebuilt(t *ast.Term) *ast.Term {
	if !m.collected(t.Value) {
		return t
	}
	switch v := t.Value.(type) {
	case ast.Object:
		delete(m.owned, v)
		out := ast.NewObjectWithCapacity(v.Len())
		v.Foreach(func(key, value *ast.Term) { out.Insert(key, m.rebuilt(value)) })
		return ast.NewTerm(out)
	default:
		delete(m.owned, v)
		return t
	}
}

func (m *machine) collected(v ast.Value) bool {
	switch v.(type) {
	case ast.Object, ast.Set:
		return m.owned[v]
	default:
		return false
	}
}

// strict is the first error of a built-in function, where the evaluation asks for it.
func (m *machine) strict() error {
	if m.options.Strict {
		return m.calls.err
	}
	return nil
}

// cancelled is the error of an evaluation that somebody stopped, as topdown has it.
func cancelled() error {
	return &topdown.Error{Code: topdown.CancelErr, Message: "caller cancelled query execution"}
}
