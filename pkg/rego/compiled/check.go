// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// check compiles the statements that are undefined unless something holds; nil for all others.
func (b *body) check(stmt ir.Stmt) step {
	switch s := stmt.(type) {
	case *ir.EqualStmt:
		return equal(b.operand(s.A), b.operand(s.B))
	case *ir.NotEqualStmt:
		return notEqual(b.operand(s.A), b.operand(s.B))
	case *ir.IsDefinedStmt:
		return isDefined(int(s.Source))
	case *ir.IsUndefinedStmt:
		return isUndefined(int(s.Source))
	case *ir.IsArrayStmt:
		return holds(b.operand(s.Source), func(v ast.Value) bool { _, ok := v.(*ast.Array); return ok })
	case *ir.IsObjectStmt:
		return holds(b.operand(s.Source), func(v ast.Value) bool { _, ok := v.(ast.Object); return ok })
	case *ir.IsSetStmt:
		return holds(b.operand(s.Source), func(v ast.Value) bool { _, ok := v.(ast.Set); return ok })
	default:
		return nil
	}
}

func equal(x, y operand) step {
	return func(m *machine, f frame) outcome { return m.same(x.get(f), y.get(f)) }
}

func notEqual(x, y operand) step {
	if y.constant != nil && y.constant.Value == ast.Boolean(false) && x.constant == nil {
		return notFalse(x.local)
	}
	return func(m *machine, f frame) outcome {
		switch m.same(x.get(f), y.get(f)) {
		case next:
			return undefined
		case undefined:
			return next
		default:
			return failed
		}
	}
}

// same compares two registers: it gives next where they are the same, undefined where they aren't, and failed
// where the evaluation is to end before a comparison that may take long. That isn't stopped in between.
func (m *machine) same(a, b *ast.Term) outcome {
	if a == b {
		return next
	}
	if eitherIsUndefined(a, b) {
		return undefined
	}
	switch x := a.Value.(type) {
	case ast.String:
		if len(x) < longText {
			y, ok := b.Value.(ast.String)
			return passing(ok && x == y)
		}
	case ast.Number:
		if b.Value == x {
			return next
		}
	case ast.Boolean:
		y, ok := b.Value.(ast.Boolean)
		return passing(ok && x == y)
	}
	return m.sameParts(a, b)
}

func (m *machine) sameParts(a, b *ast.Term) outcome {
	switch {
	case hashedUnlike(a, b):
		return undefined
	case m.beforeBoth(a, b) == failed:
		return failed
	default:
		return passing(a.Value.Compare(b.Value) == 0)
	}
}

// hashedUnlike reports that a collection differs from another value. It knows its hash.
func hashedUnlike(a, b *ast.Term) bool {
	switch a.Value.(type) {
	case *ast.Array, ast.Object, ast.Set:
		return isLongText(b) || a.Hash() != b.Hash()
	default:
		return false
	}
}

func eitherIsUndefined(a, b *ast.Term) bool { return a == nil || b == nil }

func passing(holds bool) outcome {
	if holds {
		return next
	}
	return undefined
}

// same compares two registers at once.
func same(a, b *ast.Term) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	if x, ok := a.Value.(ast.String); ok {
		y, ok := b.Value.(ast.String)
		return ok && x == y
	}
	return a.Value.Compare(b.Value) == 0
}

func (m *machine) equal(a, b *ast.Term) verdict {
	switch m.same(a, b) {
	case next:
		return yes
	case undefined:
		return no
	default:
		return ended
	}
}

func (m *machine) notEqual(a, b *ast.Term) verdict {
	switch m.same(a, b) {
	case next:
		return no
	case undefined:
		return yes
	default:
		return ended
	}
}

func comparison(name string) func(order int) bool {
	switch name {
	case ast.LessThan.Name:
		return func(order int) bool { return order < 0 }
	case ast.LessThanEq.Name:
		return func(order int) bool { return order <= 0 }
	case ast.GreaterThan.Name:
		return func(order int) bool { return order > 0 }
	case ast.GreaterThanEq.Name:
		return func(order int) bool { return order >= 0 }
	default:
		return nil
	}
}

// inOrder compares as same does.
func (m *machine) inOrder(a, b *ast.Term, ordered func(order int) bool) verdict {
	if m.beforeBoth(a, b) == failed {
		return ended
	}
	return verdictOf(ordered(a.Value.Compare(b.Value)))
}

// notFalse is what an expression asks of its value.
func notFalse(source int) step {
	return func(_ *machine, f frame) outcome {
		if t := f[source]; t != nil {
			if v, ok := t.Value.(ast.Boolean); ok && !bool(v) {
				return undefined
			}
		}
		return next
	}
}

func isDefined(source int) step {
	return func(_ *machine, f frame) outcome {
		if f[source] == nil {
			return undefined
		}
		return next
	}
}

func isUndefined(source int) step {
	return func(_ *machine, f frame) outcome {
		if f[source] != nil {
			return undefined
		}
		return next
	}
}

func holds(source operand, test func(ast.Value) bool) step {
	return func(_ *machine, f frame) outcome {
		if t := source.get(f); t != nil && test(t.Value) {
			return next
		}
		return undefined
	}
}

// condition compiles a quick test and the statement that asks whether it holds, where nobody
// else reads what it gives.
func (b *body) condition(stmts []ir.Stmt) step {
	call := b.askedOnce(stmts)
	if call == nil {
		return nil
	}
	args := b.operands(call.Args)
	test := b.tested(call.Func, args)
	if test == nil {
		return nil
	}
	otherwise := pair(b.builtinCall(b.builtins[call.Func], args, call).run, notFalse(int(call.Result)))
	return func(m *machine, f frame) outcome {
		switch test(m, f) {
		case yes:
			return next
		case no:
			return undefined
		case ended:
			return failed
		default:
			return otherwise(m, f)
		}
	}
}

// askedOnce is the call of a built-in function whose result is held against false by the next
// statement, and read by no other; nil for anything else.
func (b *body) askedOnce(stmts []ir.Stmt) *ir.CallStmt {
	if len(stmts) < 2 {
		return nil
	}
	call, ok := stmts[0].(*ir.CallStmt)
	if !ok || b.builtins[call.Func] == nil {
		return nil
	}
	asks, ok := stmts[1].(*ir.NotEqualStmt)
	if !ok || asks.A.Value != call.Result || asks.B.Value != ir.Bool(false) {
		return nil
	}
	if is := b.uses.of(call.Result); is.sets != 1 || is.reads != 1 || is.raw > 0 {
		return nil
	}
	return call
}
