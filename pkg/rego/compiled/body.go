// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// frame holds the registers of one call; nil is undefined.
type frame []*ast.Term

// step is a statement, or many of them, ready to run.
type step func(m *machine, f frame) outcome

// outcome says how a step ended. From 0 on it is how many blocks are left besides the one
// that the step stands in: a statement that is undefined leaves that block alone.
type outcome int32

const (
	// next goes on with the following statement.
	next outcome = -1
	// undefined leaves the block.
	undefined outcome = 0
	// returned ends the function; its value is in the machine.
	returned outcome = 1 << 20
	// failed ends everything; the error is in the machine.
	failed outcome = returned + 1
)

// leave is what the end of a block is to the block around it.
func (o outcome) leave() outcome {
	switch {
	case o <= undefined:
		return next
	case o < returned:
		return o - 1
	default:
		return o
	}
}

// function is a planned function. A rule without arguments has two parameters, input and data.
type function struct {
	index  int
	name   string
	params []ir.Local
	locals int
	blocks []step
	// conflict is the message when it gives two values.
	conflict string
	// keeps says that its value is kept for a second call with equal arguments.
	keeps bool
	// rebuilds says that its value is made of parts that change after they were put
	// together: their hashes are made anew before anybody sees them.
	rebuilds bool
	// loops says that it has a loop, and costly that it calls what takes longer than a moment.
	loops, costly bool
}

// body compiles the statements of one function, or of one plan.
type body struct {
	*unit
	function *function
	uses     *uses
	locals   int
	// pathOf is the path into the input that a register holds, and constantOf the constant,
	// where it holds no other in the outermost block that is being compiled.
	pathOf     map[ir.Local]int
	constantOf map[ir.Local]*ast.Term
	// pile are the registers of arrays that are gathered on the machine's pile.
	pile map[ir.Local]bool
	// inData are the registers that hold what was looked up below data.
	inData map[ir.Local]bool
	// first is the first register that belongs to one outermost block alone: before it are
	// the parameters, the value, and what each rule body gives.
	first ir.Local
}

// newBody prepares for blocks with parameters; value is the register of what a function
// returns.
func newBody(u *unit, blocks []*ir.Block, params []ir.Local, value ir.Local) *body {
	uses := usesOf(blocks)
	locals := int(ir.Unused)
	for _, p := range params {
		locals = max(locals, int(p)+1)
	}
	locals = max(locals, uses.most+1)
	return &body{unit: u, uses: uses, locals: max(locals, int(value)+1), first: max(ir.Local(len(params)), value) + 2}
}

// outermost compiles the blocks of a function or a plan.
func (b *body) outermost(blocks []*ir.Block) ([]step, error) {
	out := make([]step, 0, len(blocks))
	for i, block := range blocks {
		b.uses.enter(block)
		b.constantOf, b.pathOf = map[ir.Local]*ast.Term{}, map[ir.Local]int{}
		b.inData, b.pile = map[ir.Local]bool{ir.Data: true}, map[ir.Local]bool{}
		if !b.uses.modifies[ir.Input] {
			b.pathOf[ir.Input] = 0
		}
		one, err := b.block(block)
		if err != nil {
			return nil, fmt.Errorf("block %d: %w", i, err)
		}
		out = append(out, one)
	}
	return out, nil
}

// shared says that other outermost blocks see a register too.
func (b *body) shared(l ir.Local) bool { return l < b.first }

// block compiles statements that run one after the other.
func (b *body) block(block *ir.Block) (step, error) {
	var steps []step
	for i := 0; i < len(block.Stmts); {
		b.forget(block.Stmts[i])
		s, taken, err := b.statements(block.Stmts[i:])
		if err != nil {
			return nil, err
		}
		if s != nil {
			steps = append(steps, s)
		}
		i += taken
	}
	return sequence(steps), nil
}

// forget has a register that a statement sets not be known to hold a part of data any more.
func (b *body) forget(stmt ir.Stmt) {
	one := &uses{within: map[ir.Local]*use{}, got: map[ir.Local]bool{}}
	if !one.constructed(stmt) && !one.checked(stmt) {
		one.assigned(stmt)
	}
	for local, is := range one.within {
		if is.sets > 0 && local != ir.Data {
			delete(b.inData, local)
		}
	}
}

// sequence runs steps until one doesn't go on.
func sequence(steps []step) step {
	switch len(steps) {
	case 0:
		return func(*machine, frame) outcome { return next }
	case 1:
		return steps[0]
	case 2:
		return pair(steps[0], steps[1])
	case 3:
		return pair(steps[0], pair(steps[1], steps[2]))
	default:
		return func(m *machine, f frame) outcome {
			for _, s := range steps {
				if o := s(m, f); o != next {
					return o
				}
			}
			return next
		}
	}
}

func pair(first, second step) step {
	return func(m *machine, f frame) outcome {
		if o := first(m, f); o != next {
			return o
		}
		return second(m, f)
	}
}

// operand is where a statement reads a value: a constant, or a register.
type operand struct {
	constant *ast.Term
	local    int
}

func (b *body) operand(o ir.Operand) operand {
	switch v := o.Value.(type) {
	case ir.Local:
		return operand{local: int(v), constant: b.constantOf[v]}
	case ir.StringIndex:
		return operand{constant: b.strings[v]}
	case ir.Bool:
		return operand{constant: ast.InternedTerm(bool(v))}
	default:
		return operand{}
	}
}

func (b *body) operands(all []ir.Operand) []operand {
	out := make([]operand, 0, len(all))
	for _, o := range all {
		out = append(out, b.operand(o))
	}
	return out
}

func (o operand) get(f frame) *ast.Term {
	if o.constant != nil {
		return o.constant
	}
	return f[o.local]
}
