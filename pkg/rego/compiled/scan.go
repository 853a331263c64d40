// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// loop runs a body for each element of a collection.
type loop struct {
	source, key, value int
	// needsKey and needsValue say that something reads them.
	needsKey, needsValue bool
	body                 step
}

func (b *body) scan(s *ir.ScanStmt) (step, error) {
	b.inData[s.Value] = b.inData[s.Source]
	inner, err := b.block(s.Block)
	if err != nil {
		return nil, err
	}
	if b.function != nil {
		b.function.loops = true
	}
	l := &loop{source: int(s.Source), key: int(s.Key), value: int(s.Value), body: inner,
		needsKey: b.read(s.Key), needsValue: b.read(s.Value)}
	return l.run, nil
}

// read says that something reads a register.
func (b *body) read(l ir.Local) bool {
	is := b.uses.of(l)
	return b.shared(l) || is.reads+is.raw+is.changes > 0
}

func (l *loop) run(m *machine, f frame) outcome {
	t := f[l.source]
	if t == nil {
		return next
	}
	switch v := t.Value.(type) {
	case *ast.Array:
		return l.array(m, f, v)
	case ast.Set:
		if m.inspect() == failed { // its elements may have to be sorted first
			return failed
		}
		for _, element := range v.Slice() {
			if o := l.turn(m, f, element, element); o != next {
				return o.exit()
			}
		}
	case ast.Object:
		if v.Len() == 0 {
			return next
		}
		if m.inspect() == failed { // as may its keys
			return failed
		}
		i := m.iterate(l, f)
		v.Until(i.visit)
		m.iterators--
		return i.outcome.exit()
	}
	return next
}

func (l *loop) array(m *machine, f frame, v *ast.Array) outcome {
	for i := range v.Len() {
		var key *ast.Term
		if l.needsKey {
			key = ast.InternedTerm(i)
		}
		if o := l.turn(m, f, key, v.Elem(i)); o != next {
			return o.exit()
		}
	}
	return next
}

// turn runs the body once. That it is undefined for one element is nothing to the others.
func (l *loop) turn(m *machine, f frame, key, value *ast.Term) outcome {
	if o := m.tick(); o != next {
		return o
	}
	f[l.key], f[l.value] = key, value
	if o := l.body(m, f); o > undefined {
		return o
	}
	return next
}

// exit is what leaving a loop is to the block around it: a loop counts for two blocks, that
// of a turn and that of all turns.
func (o outcome) exit() outcome { return o.leave().leave() }

// iterator visits an object for a loop.
type iterator struct {
	loop    *loop
	m       *machine
	f       frame
	outcome outcome
	// visit is the method each, bound once.
	visit func(key, value *ast.Term) bool
}

func (i *iterator) each(key, value *ast.Term) bool {
	i.outcome = i.loop.turn(i.m, i.f, key, value)
	return i.outcome != next
}

// iterate takes an iterator of the machine's; they are used like a stack.
func (m *machine) iterate(l *loop, f frame) *iterator {
	if m.iterators == len(m.objects) {
		i := &iterator{m: m}
		i.visit = i.each
		m.objects = append(m.objects, i)
	}
	i := m.objects[m.iterators]
	m.iterators++
	i.loop, i.f, i.outcome = l, f, next
	return i
}
