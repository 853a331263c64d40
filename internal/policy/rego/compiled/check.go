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
	return func(_ *machine, f frame) outcome {
		if same(x.get(f), y.get(f)) {
			return next
		}
		return undefined
	}
}

func notEqual(x, y operand) step {
	if y.constant != nil && y.constant.Value == ast.Boolean(false) && x.constant == nil {
		return notFalse(x.local)
	}
	return func(_ *machine, f frame) outcome {
		if same(x.get(f), y.get(f)) {
			return undefined
		}
		return next
	}
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
