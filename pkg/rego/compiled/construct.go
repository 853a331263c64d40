// SPDX-License-Identifier: Apache-2.0

package compiled

import (
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/ir"
	"github.com/open-policy-agent/opa/v1/topdown"
)

// construction compiles the statements that make a collection; nil for all others.
func (b *body) construction(stmt ir.Stmt) step {
	switch s := stmt.(type) {
	case *ir.MakeArrayStmt:
		capacity := int(s.Capacity)
		return b.makes(int(s.Target), func() ast.Value { return ast.NewArrayWithCapacity(capacity) })
	case *ir.MakeObjectStmt:
		if b.madeLate(s.Target) {
			return constant(int(s.Target), ast.InternedEmptyObject)
		}
		return b.makes(int(s.Target), func() ast.Value { return ast.NewObject() })
	case *ir.MakeSetStmt:
		if b.madeLate(s.Target) {
			return constant(int(s.Target), ast.InternedEmptySet)
		}
		return b.makes(int(s.Target), func() ast.Value { return ast.NewSet() })
	case *ir.ObjectMergeStmt:
		return merge(int(s.Target), int(s.A), int(s.B))
	default:
		return nil
	}
}

func (b *body) makes(target int, empty func() ast.Value) step {
	aliased := b.uses.aliased
	return func(m *machine, f frame) outcome {
		v := empty()
		if aliased {
			m.owned[v] = true
		}
		f[target] = ast.NewTerm(v)
		return m.made(1)
	}
}

// madeLate says that a set or an object needn't be made before its first element is there:
// until then its register holds an empty one that all share. Nothing may have read it by then.
func (b *body) madeLate(l ir.Local) bool { return !b.uses.aliased && b.uses.of(l).grownFirst() }

// change compiles the statements that add to a collection; nil for all others.
func (b *body) change(stmt ir.Stmt) step {
	switch s := stmt.(type) {
	case *ir.ArrayAppendStmt:
		if b.pile[s.Array] {
			return put(b.operand(s.Value))
		}
		return appends(int(s.Array), b.operand(s.Value))
	case *ir.SetAddStmt:
		return b.adds(s)
	case *ir.ObjectInsertStmt:
		return b.inserts(s)
	case *ir.ObjectInsertOnceStmt:
		return b.insertsOnce(s)
	default:
		return nil
	}
}

func appends(array int, value operand) step {
	return func(m *machine, f frame) outcome {
		// The term is changed, not replaced: all registers that hold it see what it gets.
		t, v := f[array], value.get(f)
		if m.beforeHash(v) == failed {
			return failed
		}
		t.Value = t.Value.(*ast.Array).Append(v)
		return m.made(1)
	}
}

func (b *body) adds(s *ir.SetAddStmt) step {
	set, value := int(s.Set), b.operand(s.Value)
	aliased, location := b.uses.aliased, b.location(&s.Location)
	return func(m *machine, f frame) outcome {
		if f[set] == ast.InternedEmptySet {
			f[set] = ast.NewTerm(ast.NewSet())
		}
		to, ok := f[set].Value.(ast.Set)
		if !ok || aliased && !m.owned[to] {
			return m.fail(uniqueKeys(location))
		}
		v := value.get(f)
		if m.before(v) == failed {
			return failed
		}
		to.Add(v)
		return m.made(1)
	}
}

func (b *body) inserts(s *ir.ObjectInsertStmt) step {
	object, key, value := int(s.Object), b.operand(s.Key), b.operand(s.Value)
	aliased, location := b.uses.aliased, b.location(&s.Location)
	if !aliased {
		return func(m *machine, f frame) outcome {
			if f[object] == ast.InternedEmptyObject {
				f[object] = ast.NewTerm(ast.NewObject())
			}
			k, v := key.get(f), value.get(f)
			if m.beforeEntry(k, v) == failed {
				return failed
			}
			f[object].Value.(ast.Object).Insert(k, v)
			return m.made(1)
		}
	}
	return func(m *machine, f frame) outcome {
		to, ok := f[object].Value.(ast.Object)
		if !ok || !m.owned[to] {
			return m.fail(uniqueKeys(location))
		}
		k, v := key.get(f), value.get(f)
		if m.beforeEntry(k, v) == failed {
			return failed
		}
		if to.Get(k) == v {
			return next // it has changed where it is
		}
		to.Insert(k, v)
		return m.made(1)
	}
}

// insertsOnce adds a key that isn't there or has the same value already.
func (b *body) insertsOnce(s *ir.ObjectInsertOnceStmt) step {
	object, key, value := int(s.Object), b.operand(s.Key), b.operand(s.Value)
	aliased, location := b.uses.aliased, b.location(&s.Location)
	return func(m *machine, f frame) outcome {
		if f[object] == ast.InternedEmptyObject {
			f[object] = ast.NewTerm(ast.NewObject())
		}
		to, ok := f[object].Value.(ast.Object)
		if !ok || aliased && !m.owned[to] {
			return m.fail(uniqueKeys(location))
		}
		k, v := key.get(f), value.get(f)
		if m.beforeEntry(k, v) == failed {
			return failed
		}
		before := to.Get(k)
		if before == nil {
			to.Insert(k, v)
			return m.made(1)
		}
		if aliased && m.owned[before.Value] {
			return m.fail(uniqueKeys(location))
		}
		if o := m.same(before, v); o != undefined {
			return o
		}
		return m.fail(uniqueKeys(location))
	}
}

func uniqueKeys(location *ast.Location) error {
	return &topdown.Error{Code: topdown.ConflictErr, Message: "object keys must be unique", Location: location}
}

// merge lays one object over another; where both have a key, and not both values are
// objects, the first wins.
func merge(target, a, b int) step {
	return func(m *machine, f frame) outcome {
		if m.inspect() == failed {
			return failed
		}
		f[target] = merged(f[a], f[b])
		return m.made(lengthOf(f[target]))
	}
}

func merged(a, b *ast.Term) *ast.Term {
	if a == nil {
		return b
	}
	over, ok := a.Value.(ast.Object)
	if !ok || b == nil {
		return a
	}
	under, ok := b.Value.(ast.Object)
	if !ok {
		return a
	}
	out := ast.NewObjectWithCapacity(over.Len() + under.Len())
	over.Foreach(func(k, v *ast.Term) {
		if other := under.Get(k); other != nil {
			v = merged(v, other)
		}
		out.Insert(k, v)
	})
	under.Foreach(func(k, v *ast.Term) {
		if over.Get(k) == nil {
			out.Insert(k, v)
		}
	})
	return ast.NewTerm(out)
}
