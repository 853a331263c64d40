// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
)

// lookups compiles a statement that looks a key up, with those that look further into what
// it gives: `input.review.object.spec` is four statements and one step.
func (b *body) lookups(stmts []ir.Stmt) (step, int) {
	first, ok := stmts[0].(*ir.DotStmt)
	if !ok {
		return nil, 0
	}
	source, ok := first.Source.Value.(ir.Local)
	if !ok || b.operand(first.Source).constant != nil {
		return dot(int(first.Target), b.operand(first.Source), b.operand(first.Key)), 1
	}
	if b.inData[source] {
		b.inData[first.Target] = true
		return lookupData(int(first.Target), int(source), b.operand(first.Key)), 1
	}
	keys, target := b.chain(stmts)
	if len(keys) == 0 {
		return dot(int(first.Target), b.operand(first.Source), b.operand(first.Key)), 1
	}
	if base, ok := b.pathOf[source]; ok {
		path := b.program.paths.below(base, keys)
		if b.uses.of(target).sets == 1 {
			b.pathOf[target] = path
		}
		return lookupInput(int(target), int(source), path, keys), len(keys)
	}
	if len(keys) == 1 {
		return dot(int(target), operand{local: int(source)}, operand{constant: keys[0]}), 1
	}
	return lookupChain(int(target), int(source), keys), len(keys)
}

// chain are the constant keys that statements look up one after the other, where nobody else
// reads what lies between.
func (b *body) chain(stmts []ir.Stmt) (keys []*ast.Term, target ir.Local) {
	for i, stmt := range stmts {
		s, ok := stmt.(*ir.DotStmt)
		if !ok {
			break
		}
		key := b.operand(s.Key).constant
		if key == nil {
			break
		}
		if i > 0 {
			between := b.uses.of(target)
			if s.Source.Value != target || between.sets != 1 || between.reads != 1 || between.raw+between.changes > 0 {
				break
			}
		}
		keys, target = append(keys, key), s.Target
	}
	return keys, target
}

func dot(target int, source, key operand) step {
	return func(_ *machine, f frame) outcome {
		from, k := source.get(f), key.get(f)
		if from == nil || k == nil {
			f[target] = nil
			return undefined
		}
		v := from.Get(k)
		f[target] = v
		if v == nil {
			return undefined
		}
		return next
	}
}

func lookupChain(target, source int, keys []*ast.Term) step {
	return func(_ *machine, f frame) outcome {
		v := f[source]
		for _, key := range keys {
			if v == nil {
				break
			}
			v = v.Get(key)
		}
		f[target] = v
		if v == nil {
			return undefined
		}
		return next
	}
}

// lookupInput looks a constant path into the input up, once in an evaluation. Where `with`
// has put another input in its place, it looks there.
func lookupInput(target, source, path int, keys []*ast.Term) step {
	otherwise := lookupChain(target, source, keys)
	return func(m *machine, f frame) outcome {
		if f[ir.Input] != m.input {
			return otherwise(m, f)
		}
		v := m.looked[path]
		if v == nil {
			v = m.look(path)
		}
		if v == absent {
			f[target] = nil
			return undefined
		}
		f[target] = v
		return next
	}
}

// lookupData looks a key up below data, where OPA's store takes a number for the name of a
// field, and a text for the number of an element.
func lookupData(target, source int, key operand) step {
	plain, found := dot(target, operand{local: source}, key), isDefined(target)
	return func(m *machine, f frame) outcome {
		if o := plain(m, f); o == next || f[ir.Data] != m.options.Data {
			return o
		}
		if from, k := f[source], key.get(f); from != nil && k != nil {
			f[target] = otherKey(from.Value, k.Value)
		}
		return found(m, f)
	}
}

// otherKey is what a collection has under a number as a text, or under a text as a number.
func otherKey(from, key ast.Value) *ast.Term {
	switch v := from.(type) {
	case ast.Object:
		if number, ok := key.(ast.Number); ok {
			return v.Get(ast.StringTerm(string(number)))
		}
	case *ast.Array:
		if text, ok := key.(ast.String); ok {
			return v.Get(ast.NewTerm(ast.Number(text)))
		}
	}
	return nil
}

// paths are constant paths into the input, each the path of another and one key more. The
// first is the input itself.
type paths struct {
	parents []int
	keys    []*ast.Term
	index   map[pathKey]int
}

type pathKey struct {
	parent int
	key    ast.Value
}

func newPaths() *paths {
	return &paths{parents: []int{-1}, keys: []*ast.Term{nil}, index: map[pathKey]int{}}
}

// below is the number of the path with more keys.
func (p *paths) below(parent int, keys []*ast.Term) int {
	for _, key := range keys {
		k := pathKey{parent, key.Value}
		if !ast.IsScalar(key.Value) {
			k.key = ast.String(key.String()) // collections aren't comparable
		}
		at, ok := p.index[k]
		if !ok {
			at = len(p.keys)
			p.parents, p.keys = append(p.parents, parent), append(p.keys, key)
			p.index[k] = at
		}
		parent = at
	}
	return parent
}

// look finds what the input has at a path, and keeps it for the evaluation.
func (m *machine) look(path int) *ast.Term {
	v := m.looked[path]
	if v != nil {
		return v
	}
	if path == 0 {
		v = m.input
	} else if parent := m.look(m.program.paths.parents[path]); parent != absent {
		v = parent.Get(m.program.paths.keys[path])
	}
	if v == nil {
		v = absent
	}
	m.looked[path] = v
	return v
}
