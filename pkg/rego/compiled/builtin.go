// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"context"
	"crypto/rand"
	"errors"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
	"github.com/open-policy-agent/opa/v1/topdown/builtins"
)

// builtinCall is a statement that calls a built-in function.
type builtinCall struct {
	name string
	// implementation is nil for a function that each evaluation brings along.
	implementation topdown.BuiltinFunc
	args           []operand
	result         int
	location       *ast.Location
	// relation says that it gives any number of values, which are gathered; void says
	// that it gives none.
	relation, void bool
}

func (b *body) callBuiltin(builtin *ast.Builtin, args []operand, s *ir.CallStmt) step {
	c := b.builtinCall(builtin, args, s)
	if quick := b.quick(builtin.Name, args, c.result, c.run); quick != nil {
		return quick
	}
	if b.function != nil {
		b.function.costly = true
	}
	return c.run
}

func (b *body) builtinCall(builtin *ast.Builtin, args []operand, s *ir.CallStmt) *builtinCall {
	return &builtinCall{name: builtin.Name, implementation: implementation(builtin.Name), args: args,
		result: int(s.Result), location: b.location(&s.Location),
		relation: builtin.Relation, void: builtin.Decl.Result() == nil}
}

// run calls the function. An error of its own makes it undefined, and is remembered.
func (c *builtinCall) run(m *machine, f frame) outcome {
	f[c.result] = nil
	operands := m.calls.operands[:0]
	for _, arg := range c.args {
		t := arg.get(f)
		if t == nil {
			return undefined
		}
		operands = append(operands, t)
	}
	m.calls.operands = operands
	implementation := c.implementation
	if implementation == nil {
		own := m.options.Builtins[c.name]
		if own == nil {
			return m.fail(&topdown.Error{Code: topdown.InternalErr, Location: c.location,
				Message: "unsupported built-in: " + c.name})
		}
		implementation = own.Func
	}
	// One call may take as long as many thousand steps.
	if m.options.Cancel != nil && m.options.Cancel.Cancelled() {
		return m.fail(cancelled())
	}
	if err := m.calls.make(implementation, c.location, c.relation); err != nil {
		var halt topdown.Halt
		if errors.As(err, &halt) {
			return m.fail(halt.Err)
		}
		m.calls.err = firstOf(m.calls.err, err)
		return undefined
	}
	return c.took(m, f)
}

// took sets the result.
func (c *builtinCall) took(m *machine, f frame) outcome {
	output := m.calls.output
	m.calls.output = nil
	switch {
	case c.relation:
		output = ast.ArrayTerm(m.calls.outputs...)
		m.calls.outputs = nil
	case !m.calls.answered:
		return undefined
	case c.void || output == nil:
		return next
	}
	f[c.result] = output
	return m.gave(output)
}

func firstOf(a, b error) error {
	if a != nil {
		return a
	}
	return b
}

// builtinCalls is what the calls of built-in functions share in an evaluation.
type builtinCalls struct {
	context  topdown.BuiltinContext
	operands []*ast.Term
	// output is what the function gave that was called last, and outputs are those of a
	// relation.
	output   *ast.Term
	outputs  []*ast.Term
	answered bool
	// take is the method one, and gather the machine's method another, bound once.
	take, gather func(*ast.Term) error
	// cache is what functions keep for the evaluation, where the caller brings none along.
	cache builtins.Cache
	// err is the first error of a function.
	err error
}

func (c *builtinCalls) one(t *ast.Term) error {
	c.output, c.answered = t, true
	return nil
}

// another keeps one more value of a relation. OPA's planner asks for all of them at once: they are counted one by one,
// and the evaluation ends among them as it would in a loop.
func (m *machine) another(t *ast.Term) error {
	m.calls.outputs = append(m.calls.outputs, t)
	cells := lengthOf(t) + 1
	if parts, ok := t.Value.(*ast.Array); ok && parts.Len() > 0 {
		cells += lengthOf(parts.Elem(0)) // the path to it is its own
	}
	if m.tick() == failed || m.made(cells) == failed {
		return topdown.Halt{Err: m.err}
	}
	return nil
}

func (c *builtinCalls) make(f topdown.BuiltinFunc, at *ast.Location, relation bool) error {
	c.context.Location, c.answered = at, false
	if relation {
		c.outputs = nil
		return f(c.context, c.operands, c.gather)
	}
	return f(c.context, c.operands, c.take)
}

func (c *builtinCalls) begin(ctx context.Context, o *Options) {
	c.context = o.Context
	c.context.Context, c.context.Cancel = ctx, o.Cancel
	if c.context.Time == nil {
		c.context.Time = ast.InternedTerm(0)
	}
	if c.context.Seed == nil {
		c.context.Seed = rand.Reader
	}
	if c.context.Cache == nil {
		c.context.Cache = c.cache
	}
}

func (c *builtinCalls) end() {
	clear(c.operands[:cap(c.operands)])
	clear(c.cache)
	c.context, c.output, c.outputs, c.err = topdown.BuiltinContext{}, nil, nil, nil
}
