// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"fmt"

	"github.com/open-policy-agent/opa/v1/ir"
)

// statements compiles the first of statements, and says how many it has taken: more than one
// where they are one step together.
func (b *body) statements(stmts []ir.Stmt) (step, int, error) {
	if s, taken := b.lookups(stmts); taken > 0 {
		return s, taken, nil
	}
	if s, taken := b.literal(stmts); taken > 0 {
		return s, taken, nil
	}
	if s := b.condition(stmts); s != nil {
		return s, 2, nil
	}
	if s, taken, err := b.gathering(stmts); taken > 0 || err != nil {
		return s, taken, err
	}
	s, err := b.statement(stmts[0])
	return s, 1, err
}

// statement compiles one statement.
func (b *body) statement(stmt ir.Stmt) (step, error) {
	if s := b.assignment(stmt); s != nil {
		return s, nil
	}
	if s := b.check(stmt); s != nil {
		return s, nil
	}
	if s := b.construction(stmt); s != nil {
		return s, nil
	}
	if s := b.change(stmt); s != nil {
		return s, nil
	}
	return b.control(stmt)
}

// control compiles the statements that hold others or leave them.
func (b *body) control(stmt ir.Stmt) (step, error) {
	switch s := stmt.(type) {
	case *ir.BlockStmt:
		return b.blocks(s)
	case *ir.ScanStmt:
		return b.scan(s)
	case *ir.NotStmt:
		return b.not(s)
	case *ir.WithStmt:
		return b.with(s)
	case *ir.CallStmt:
		return b.call(s)
	case *ir.CallDynamicStmt:
		return b.callDynamic(s)
	case *ir.BreakStmt:
		o := outcome(s.Index)
		return func(*machine, frame) outcome { return o }, nil
	case *ir.ReturnLocalStmt:
		return b.returns(s), nil
	case *ir.ResultSetAddStmt:
		return b.result(s), nil
	default:
		return nil, fmt.Errorf("unknown statement %T", stmt)
	}
}

func (b *body) blocks(s *ir.BlockStmt) (step, error) {
	inner := make([]step, 0, len(s.Blocks))
	for _, block := range s.Blocks {
		one, err := b.block(block)
		if err != nil {
			return nil, err
		}
		inner = append(inner, one)
	}
	if len(inner) == 1 {
		only := inner[0]
		return func(m *machine, f frame) outcome { return only(m, f).leave() }, nil
	}
	return func(m *machine, f frame) outcome {
		for _, one := range inner {
			if o := one(m, f).leave(); o != next {
				return o
			}
		}
		return next
	}, nil
}

func (b *body) not(s *ir.NotStmt) (step, error) {
	inner, err := b.block(s.Block)
	if err != nil {
		return nil, err
	}
	return func(m *machine, f frame) outcome {
		switch o := inner(m, f); o {
		case next:
			return undefined
		case undefined:
			return next
		default:
			return o.leave()
		}
	}, nil
}

func (b *body) returns(s *ir.ReturnLocalStmt) step {
	source := int(s.Source)
	rebuilds := b.function != nil && b.function.rebuilds
	return func(m *machine, f frame) outcome {
		m.value = f[source]
		if rebuilds && m.value != nil {
			m.value = m.rebuilt(m.value)
		}
		return returned
	}
}

func (b *body) result(s *ir.ResultSetAddStmt) step {
	value := int(s.Value)
	return func(m *machine, f frame) outcome {
		m.results = append(m.results, f[value])
		return m.made(1)
	}
}
