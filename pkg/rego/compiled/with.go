// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// with compiles a statement that gives a register, input or data, another value or another
// part for the time of its block. Functions get input and data as arguments, so the
// register is all that there is to change; what functions gave before is kept apart.
func (b *body) with(s *ir.WithStmt) (step, error) {
	inner, err := b.block(s.Block)
	if err != nil {
		return nil, err
	}
	local, value := int(s.Local), b.operand(s.Value)
	path := make([]*ast.Term, 0, len(s.Path))
	for _, index := range s.Path {
		path = append(path, b.strings[index])
	}
	return func(m *machine, f frame) outcome {
		before := f[local]
		replaced := m.upserted(before, path, value.get(f))
		if len(path) > 0 && m.inspect() == failed { // a copy may take as long as many thousand steps
			return failed
		}
		f[local] = replaced
		level := m.enter(f[ir.Input], f[ir.Data])
		o := inner(m, f)
		m.leave(level)
		f[local] = before
		if o == undefined || o == next {
			return o
		}
		return o.leave()
	}, nil
}

// upserted is a document with another value at a path; what lies on the way is copied, and
// made where it isn't an object. What is copied is counted.
func (m *machine) upserted(document *ast.Term, path []*ast.Term, value *ast.Term) *ast.Term {
	if len(path) == 0 {
		return value
	}
	out := ast.NewObject()
	var child *ast.Term
	if document != nil {
		if object, ok := document.Value.(ast.Object); ok {
			child = object.Get(path[0])
			m.made(int64(object.Len()) + 1)
			out = ast.NewObjectWithCapacity(object.Len() + 1)
			object.Foreach(func(k, v *ast.Term) {
				if child == nil || !same(k, path[0]) {
					out.Insert(k, v)
				}
			})
		}
	}
	out.Insert(path[0], m.upserted(child, path[1:], value))
	return ast.NewTerm(out)
}

// level keeps what functions gave for one input and one data.
type level struct {
	input, data *ast.Term
	// rules are the values of rules without arguments, by function; calls are those of
	// functions with arguments, by the hash of function and arguments.
	rules []*ast.Term
	calls map[int]*kept
	// outer is the level that this one was entered from, and owner says that it was made
	// then.
	outer *level
}

// enter goes to the level of an input and data: to one around this one that has the same, or
// to a new one.
func (m *machine) enter(input, data *ast.Term) (before *level) {
	before = m.level
	for l := before; l != nil; l = l.outer {
		if l.input == input && l.data == data {
			m.level = l
			return before
		}
	}
	m.level = &level{input: input, data: data, outer: before, rules: make([]*ast.Term, len(m.program.functions))}
	return before
}

func (m *machine) leave(before *level) { m.level = before }
