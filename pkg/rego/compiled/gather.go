// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"slices"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// gathering compiles the statements that make an array and all that is ever added to it: the
// array is made when its elements are there, and not once for each of them.
func (b *body) gathering(stmts []ir.Stmt) (step, int, error) {
	made, ok := stmts[0].(*ir.MakeArrayStmt)
	if !ok || b.uses.aliased || b.shared(made.Target) || b.uses.of(made.Target).sets != 1 || len(stmts) < 2 {
		return nil, 0, nil
	}
	if block, ok := stmts[1].(*ir.BlockStmt); ok && b.appendsOnly(block, made.Target) {
		return b.comprehension(block, made.Target)
	}
	return nil, 0, nil
}

// appendsOnly says that an array gets all its elements in a block, which does nothing else
// with it.
func (b *body) appendsOnly(s *ir.BlockStmt, array ir.Local) bool {
	inside := usesOf([]*ir.Block{{Stmts: []ir.Stmt{s}}}).of(array)
	return inside.changes == b.uses.of(array).changes && inside.reads+inside.raw+inside.sets == 0
}

// comprehension runs a block that appends to an array: what it appends is put aside, and made
// an array in the end. Comprehensions within it are over before it goes on, so that the
// machine needs no more than one pile.
func (b *body) comprehension(s *ir.BlockStmt, array ir.Local) (step, int, error) {
	b.pile[array] = true
	inner, err := b.blocks(s)
	if err != nil {
		return nil, 0, err
	}
	target := int(array)
	return func(m *machine, f frame) outcome {
		bottom := len(m.pile)
		o := inner(m, f)
		f[target] = ast.InternedEmptyArray
		if len(m.pile) > bottom {
			f[target] = ast.NewTerm(ast.NewArray(slices.Clone(m.pile[bottom:])...))
		}
		clear(m.pile[bottom:])
		m.pile = m.pile[:bottom]
		return o
	}, 2, nil
}

// put appends to the array that is being gathered.
func put(value operand) step {
	return func(m *machine, f frame) outcome {
		t := value.get(f)
		if m.beforeHash(t) == failed {
			return failed
		}
		m.pile = append(m.pile, t)
		return m.made(1)
	}
}
