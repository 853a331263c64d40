// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"context"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// Options are what an evaluation is made of besides the program.
type Options struct {
	// Input and Data are the documents; nil for one that is undefined. They may be shared
	// between evaluations, for nothing ever changes them.
	Input, Data *ast.Term
	// Fields are those of the input, where it isn't given itself. A program that reads more than
	// that doesn't see them: Program.ReadsFieldsOnly.
	Fields [][2]*ast.Term
	// Strict makes an error of a built-in function the error of the evaluation; without it
	// the call is undefined.
	Strict bool
	// Budget bounds the evaluation.
	Budget Budget
	// Cancel is asked every few steps whether to stop, and handed to built-in functions.
	// It may be nil.
	Cancel topdown.Cancel
	// Context is handed to built-in functions, with the context, the location and Cancel
	// filled in. Time is what time.now_ns gives.
	Context topdown.BuiltinContext
	// Builtins are the functions that the policy was planned with, and OPA doesn't have.
	Builtins map[string]*topdown.Builtin
}

// Evaluation asks a program's rules of one input. It is for one goroutine.
type Evaluation struct{ m *machine }

// ReadsFieldsOnly says that nothing reads the input as a whole, so that Options.Fields do.
func (p *Program) ReadsFieldsOnly() bool { return p.fieldsOnly }

// Begin begins an evaluation. Call End when it is over: nothing of it may be used afterwards
// but the terms that it gave.
func (p *Program) Begin(ctx context.Context, o *Options) Evaluation {
	m := p.machines.Get().(*machine)
	m.begin(ctx, o)
	return Evaluation{m: m}
}

// End gives up what the evaluation holds. After a panic of a built-in function it mustn't be
// called.
func (e Evaluation) End() {
	m := e.m
	m.end()
	m.program.machines.Put(m)
}

// Steps is how many turns of loops and calls of functions there were so far.
func (e Evaluation) Steps() int64 { return e.m.steps }

// Rule is the value of a rule; nil when it is undefined. The errors are those of topdown, and
// those of the budget.
func (e Evaluation) Rule(r Rule) (*ast.Term, error) {
	m := e.m
	if m.inspect() == failed {
		return nil, m.err
	}
	value := m.rule(m.program.functions[r.index], m.input, m.options.Data)
	if value == stopped {
		return nil, firstOf(m.strict(), m.err)
	}
	return value, m.strict()
}

// Query runs a plan by its name, and gives an object of its variables for each answer. The
// error is that of Rule.
func (e Evaluation) Query(name string) ([]*ast.Term, error) {
	m := e.m
	q := m.program.queries[name]
	if q == nil || m.inspect() == failed {
		return nil, m.err
	}
	f, before := m.push(q.locals)
	f[0], f[1] = m.input, m.options.Data
	value := m.blocks(q.blocks, f)
	m.pop(before, f)
	if value == stopped {
		return nil, firstOf(m.strict(), m.err)
	}
	results := m.results
	m.results = nil // whoever asked keeps them
	return results, m.strict()
}
