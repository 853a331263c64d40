// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// literal compiles the statements that write down a constant, as many as there are one after
// the other: the constant is made once, here, and shared by all evaluations. So nothing may
// change it: a collection is one only where all that is ever added to it in its rule is
// constant too and is added here, and where no rule changes collections by other names.
func (b *body) literal(stmts []ir.Stmt) (step, int) {
	if b.uses.aliased {
		return nil, 0
	}
	l := &literals{body: b, values: map[ir.Local]*ast.Term{}, changes: map[ir.Local]int{}}
	taken := 0
	for i, stmt := range stmts {
		if !l.takes(stmt) {
			break
		}
		if l.whole() {
			taken = i + 1
		}
	}
	if taken == 0 {
		return nil, 0
	}
	return b.known(stmts[:taken]), taken
}

// known makes registers constants, and gives the step for those that something reads
// otherwise than by an operand.
func (b *body) known(stmts []ir.Stmt) step {
	l := &literals{body: b, values: map[ir.Local]*ast.Term{}, changes: map[ir.Local]int{}}
	for _, stmt := range stmts {
		l.takes(stmt)
	}
	var steps []step
	for _, local := range l.order {
		putInOrder(l.values[local].Value)
		b.constantOf[local] = l.values[local]
		if b.uses.of(local).raw > 0 {
			steps = append(steps, constant(int(local), l.values[local]))
		}
	}
	if len(steps) == 0 {
		return nil
	}
	return sequence(steps)
}

// putInOrder has OPA sort the keys of a collection, which it does in place, before evaluations share it and not while
// they do. What it holds is in order.
func putInOrder(collection ast.Value) {
	switch c := collection.(type) {
	case ast.Set:
		c.Foreach(func(*ast.Term) {})
	case ast.Object:
		c.Foreach(func(_, _ *ast.Term) {})
	}
}

// literals are constants that are being put together.
type literals struct {
	body    *body
	values  map[ir.Local]*ast.Term
	order   []ir.Local
	changes map[ir.Local]int
}

// whole says that nothing is ever added to the collections any more.
func (l *literals) whole() bool {
	for local := range l.values {
		if l.changes[local] != l.body.uses.of(local).changes {
			return false
		}
	}
	return true
}

// takes adds a statement; false when it isn't constant.
func (l *literals) takes(stmt ir.Stmt) bool {
	switch s := stmt.(type) {
	case *ir.MakeNumberRefStmt:
		return l.begins(s.Target, l.body.number(s.Index))
	case *ir.MakeNumberIntStmt:
		return l.begins(s.Target, integer(s.Value))
	case *ir.MakeNullStmt:
		return l.begins(s.Target, ast.InternedNullTerm)
	case *ir.MakeArrayStmt:
		return l.begins(s.Target, ast.NewTerm(ast.NewArrayWithCapacity(int(s.Capacity))))
	case *ir.MakeObjectStmt:
		return l.begins(s.Target, ast.NewTerm(ast.NewObject()))
	case *ir.MakeSetStmt:
		return l.begins(s.Target, ast.NewTerm(ast.NewSet()))
	default:
		return l.grows(stmt)
	}
}

func (l *literals) begins(local ir.Local, value *ast.Term) bool {
	is := l.body.uses.of(local)
	if is.sets != 1 || l.body.shared(local) || l.values[local] != nil {
		return false
	}
	l.values[local] = value
	l.order = append(l.order, local)
	return true
}

func (l *literals) grows(stmt ir.Stmt) bool {
	switch s := stmt.(type) {
	case *ir.ArrayAppendStmt:
		to, value := l.values[s.Array], l.constant(s.Value)
		if to == nil || value == nil {
			return false
		}
		to.Value = to.Value.(*ast.Array).Append(value)
		l.changes[s.Array]++
	case *ir.SetAddStmt:
		to, value := l.values[s.Set], l.constant(s.Value)
		if to == nil || value == nil {
			return false
		}
		to.Value.(ast.Set).Add(value)
		l.changes[s.Set]++
	case *ir.ObjectInsertStmt:
		to, key, value := l.values[s.Object], l.constant(s.Key), l.constant(s.Value)
		if to == nil || key == nil || value == nil {
			return false
		}
		to.Value.(ast.Object).Insert(key, value)
		l.changes[s.Object]++
	default:
		return false
	}
	return true
}

// constant is the value of an operand; nil when it may change, or grows still.
func (l *literals) constant(o ir.Operand) *ast.Term {
	local, ok := o.Value.(ir.Local)
	if !ok {
		return l.body.operand(o).constant
	}
	if v := l.values[local]; v != nil && l.changes[local] == l.body.uses.of(local).changes {
		return v
	}
	return l.body.constantOf[local]
}
