// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// call compiles the call of a planned function or of a built-in one. It is undefined where
// the function is.
func (b *body) call(s *ir.CallStmt) (step, error) {
	args := b.operands(s.Args)
	if index, ok := b.program.byName[s.Func]; ok {
		return b.callFunction(b.program.functions[index], args, int(s.Result))
	}
	builtin, ok := b.builtins[s.Func]
	if !ok {
		return nil, fmt.Errorf("the plan calls %s, which it doesn't have", s.Func)
	}
	return b.callBuiltin(builtin, args, s), nil
}

func (b *body) callFunction(to *function, args []operand, result int) (step, error) {
	if len(args) != len(to.params) {
		return nil, fmt.Errorf("%s is called with %d arguments instead of %d", to.name, len(args), len(to.params))
	}
	if b.function != nil {
		b.function.costly = true
	}
	if len(args) == 2 {
		input, data := args[0].local, args[1].local
		return func(m *machine, f frame) outcome { return set(f, result, m.rule(to, f[input], f[data])) }, nil
	}
	return func(m *machine, f frame) outcome { return set(f, result, m.call(to, args, f)) }, nil
}

// set gives a register what a call gave.
func set(f frame, result int, value *ast.Term) outcome {
	switch value {
	case nil:
		f[result] = nil
		return undefined
	case stopped:
		f[result] = nil
		return failed
	}
	f[result] = value
	return next
}

// callDynamic compiles the call of a rule whose path is told by registers. Where there is no
// such rule, the block is left and data is looked at; where the rule is undefined, so is
// the reference, and four blocks are left, as the planner arranges them.
func (b *body) callDynamic(s *ir.CallDynamicStmt) (step, error) {
	const whole = outcome(3)
	if len(s.Args) != 2 {
		return nil, fmt.Errorf("a dynamic call has %d arguments instead of 2", len(s.Args))
	}
	path := b.operands(s.Path)
	if b.function != nil {
		b.function.loops = true // for all that is known
	}
	input, data, result := int(s.Args[0]), int(s.Args[1]), int(s.Result)
	return func(m *machine, f frame) outcome {
		to := m.program.at(path, f)
		if to == nil {
			return undefined
		}
		o := set(f, result, m.rule(to, f[input], f[data]))
		if o == undefined {
			return whole
		}
		return o
	}, nil
}

// at is the function of the rule at a path; nil when there is none.
func (p *Program) at(path []operand, f frame) *function {
	parts := make([]string, 0, len(path))
	for _, part := range path {
		t := part.get(f)
		if t == nil {
			return nil
		}
		text, ok := t.Value.(ast.String)
		if !ok {
			return nil
		}
		parts = append(parts, string(text))
	}
	index, ok := p.byPath[joined(parts)]
	if !ok || len(p.functions[index].params) != 2 {
		return nil
	}
	return p.functions[index]
}

// keepCostly decides which functions' values are kept for a second call: of those that call
// others, have loops, or call built-in functions that aren't quick. What the rest does takes
// less time than looking its arguments up.
func (p *Program) keepCostly() {
	for _, f := range p.functions {
		f.keeps = f.loops || f.costly
	}
}

// rule is the value of a rule without arguments: nil when it is undefined, stopped when
// something went wrong.
func (m *machine) rule(to *function, input, data *ast.Term) *ast.Term {
	if kept := m.level.rules[to.index]; kept != nil {
		if kept == absent {
			return nil
		}
		return kept
	}
	f, before := m.push(to.locals)
	f[to.params[0]], f[to.params[1]] = input, data
	value := m.run(to, f)
	m.pop(before, f)
	if value == stopped {
		return stopped
	}
	if m.level.rules[to.index] = value; value == nil {
		m.level.rules[to.index] = absent
	}
	return value
}

// call is the value of a function with arguments.
func (m *machine) call(to *function, args []operand, caller frame) *ast.Term {
	f, before := m.push(to.locals)
	for i, arg := range args {
		f[to.params[i]] = arg.get(caller)
	}
	if !to.keeps {
		value := m.run(to, f)
		m.pop(before, f)
		return value
	}
	hash, again := m.recall(to, f)
	if again != nil {
		m.pop(before, f)
		return again.value
	}
	k := m.remember(to, f)
	value := m.run(to, f)
	m.pop(before, f)
	if value != stopped {
		k.value = value
		m.keep(hash, k)
	}
	return value
}

// run runs a function in its frame.
func (m *machine) run(to *function, f frame) *ast.Term {
	if m.tick() != next || m.deeper() != next {
		return stopped
	}
	m.depth++
	value := m.blocks(to.blocks, f)
	m.depth--
	return value
}

func (m *machine) blocks(blocks []step, f frame) *ast.Term {
	for _, block := range blocks {
		if o := block(m, f); o == returned {
			return m.value
		} else if o == failed {
			return stopped
		}
	}
	return nil
}
