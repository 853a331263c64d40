// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"strings"
	"unicode/utf8"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// assignment compiles the statements that set a register; nil for all others.
func (b *body) assignment(stmt ir.Stmt) step {
	switch s := stmt.(type) {
	case *ir.AssignVarStmt:
		return assign(int(s.Target), b.operand(s.Source))
	case *ir.AssignVarOnceStmt:
		return b.assignOnce(s)
	case *ir.AssignIntStmt:
		return constant(int(s.Target), integer(s.Value))
	case *ir.MakeNumberIntStmt:
		return constant(int(s.Target), integer(s.Value))
	case *ir.MakeNumberRefStmt:
		return constant(int(s.Target), b.number(s.Index))
	case *ir.MakeNullStmt:
		return constant(int(s.Target), ast.InternedNullTerm)
	case *ir.ResetLocalStmt:
		return constant(int(s.Target), nil)
	case *ir.LenStmt:
		return length(int(s.Target), b.operand(s.Source))
	case *ir.NopStmt:
		return func(*machine, frame) outcome { return next }
	default:
		return nil
	}
}

// integer is a number as OPA shares it.
func integer(n int64) *ast.Term { return ast.InternedTerm(int(n)) }

func constant(target int, value *ast.Term) step {
	return func(_ *machine, f frame) outcome {
		f[target] = value
		return next
	}
}

func assign(target int, source operand) step {
	if source.constant != nil {
		return constant(target, source.constant)
	}
	from := source.local
	return func(_ *machine, f frame) outcome {
		f[target] = f[from]
		return next
	}
}

// assignOnce sets a register that is undefined or has the same value already; it is an error
// where a rule gives two values.
func (b *body) assignOnce(s *ir.AssignVarOnceStmt) step {
	target, source := int(s.Target), b.operand(s.Source)
	location := b.location(&s.Location)
	message := "two values were given"
	if b.function != nil {
		message = b.function.conflict
	}
	return func(m *machine, f frame) outcome {
		value, before := source.get(f), f[target]
		if before == nil {
			f[target] = value
			return next
		}
		if o := m.same(before, value); o != undefined {
			return o
		}
		return m.fail(&topdown.Error{Code: topdown.ConflictErr, Message: message, Location: location})
	}
}

// conflictOf is topdown's message when a function gives two values.
func conflictOf(f *ir.Func) string {
	_, path, _ := strings.Cut(f.Name, ".") // the name begins with a generation, as in g0.data.p
	if len(f.Params) > 2 {
		return "function " + path + " produced conflicting values for the same inputs"
	}
	return "rule " + path + " produced conflicting values"
}

func length(target int, source operand) step {
	return func(_ *machine, f frame) outcome {
		f[target] = integer(lengthOf(source.get(f)))
		return next
	}
}

func lengthOf(t *ast.Term) int64 {
	if t == nil {
		return 0
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		return int64(v.Len())
	case ast.Object:
		return int64(v.Len())
	case ast.Set:
		return int64(v.Len())
	case ast.String:
		return int64(utf8.RuneCountInString(string(v)))
	default:
		return 0
	}
}

// location is where a statement stands in the policy's text.
func (b *body) location(l *ir.Location) *ast.Location {
	if l == nil || l.File >= len(b.files) {
		return nil
	}
	return ast.NewLocation(l.Text, b.files[l.File], l.Row, l.Col)
}
