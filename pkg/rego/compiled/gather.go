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
	if made, ok := stmts[0].(*ir.MakeObjectStmt); ok {
		s, taken := b.writtenObject(stmts, made.Target)
		return s, taken, nil
	}
	made, ok := stmts[0].(*ir.MakeArrayStmt)
	if !ok || b.uses.aliased || b.shared(made.Target) || b.uses.of(made.Target).sets != 1 || len(stmts) < 2 {
		return nil, 0, nil
	}
	if block, ok := stmts[1].(*ir.BlockStmt); ok && b.appendsOnly(block, made.Target) {
		return b.comprehension(block, made.Target)
	}
	s, taken := b.written(stmts, made.Target)
	return s, taken, nil
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

// written is an array that is written down, with elements that aren't constant.
func (b *body) written(stmts []ir.Stmt, array ir.Local) (step, int) {
	var elements []operand
	for _, stmt := range stmts[1:] {
		s, ok := stmt.(*ir.ArrayAppendStmt)
		if !ok || s.Array != array || s.Value.Value == array {
			break
		}
		elements = append(elements, b.operand(s.Value))
	}
	if len(elements) == 0 || len(elements) != b.uses.of(array).changes {
		return nil, 0
	}
	target := int(array)
	return func(m *machine, f frame) outcome {
		list := make([]*ast.Term, len(elements))
		for i, element := range elements {
			list[i] = element.get(f)
			if m.beforeHash(list[i]) == failed {
				return failed
			}
		}
		f[target] = ast.NewTerm(ast.NewArray(list...))
		return m.made(int64(len(list)))
	}, 1 + len(elements)
}

// writtenObject is an object that is written down, with constant keys and values that aren't.
func (b *body) writtenObject(stmts []ir.Stmt, object ir.Local) (step, int) {
	if b.uses.aliased || b.shared(object) || b.uses.of(object).sets != 1 {
		return nil, 0
	}
	keys, values := b.fields(stmts[1:], object)
	if len(keys) == 0 || len(keys) != b.uses.of(object).changes {
		return nil, 0
	}
	target := int(object)
	return func(m *machine, f frame) outcome {
		items := make([][2]*ast.Term, len(keys))
		for i, key := range keys {
			items[i] = ast.Item(key, values[i].get(f))
			if m.beforeHash(items[i][1]) == failed {
				return failed
			}
		}
		f[target] = ast.ObjectTerm(items...)
		return m.made(int64(len(items)))
	}, 1 + len(keys)
}

// fields are what statements insert into an object one after the other, each constant key once.
func (b *body) fields(stmts []ir.Stmt, object ir.Local) (keys []*ast.Term, values []operand) {
	seen := ast.NewSet()
	for _, stmt := range stmts {
		s, ok := stmt.(*ir.ObjectInsertStmt)
		if !ok || s.Object != object || s.Value.Value == object {
			break
		}
		key := b.operand(s.Key).constant
		if key == nil || seen.Contains(key) {
			break
		}
		seen.Add(key)
		keys, values = append(keys, key), append(values, b.operand(s.Value))
	}
	return keys, values
}
