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
// reads what lies between; collections aren't among them, which paths couldn't tell from texts.
func (b *body) chain(stmts []ir.Stmt) (keys []*ast.Term, target ir.Local) {
	for i, stmt := range stmts {
		s, ok := stmt.(*ir.DotStmt)
		if !ok {
			break
		}
		key := b.operand(s.Key).constant
		if key == nil || large(key) || !ast.IsScalar(key.Value) {
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
	plain := func(_ *machine, f frame) outcome {
		from, k := source.get(f), key.get(f)
		if from == nil || k == nil {
			f[target] = nil
			return undefined
		}
		v := from.Get(k)
		f[target] = v
		return passing(v != nil)
	}
	if key.constant != nil && !large(key.constant) {
		return plain
	}
	return func(m *machine, f frame) outcome {
		if k := key.get(f); k != nil && m.before(k) == failed {
			return failed
		}
		return plain(m, f)
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
		return passing(v != nil)
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
		v := m.inputs[path]
		if v == nil {
			v = m.inputAt(path)
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
		if o := plain(m, f); o != undefined || f[ir.Data] != m.options.Data {
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

// inputAt finds what the input has at a path, and keeps it for the evaluation.
func (m *machine) inputAt(path int) *ast.Term {
	v := m.inputs[path]
	if v != nil {
		return v
	}
	if path == 0 {
		v = m.input
	} else if m.program.paths.parents[path] == 0 && m.input == fields {
		v = fieldOf(m.options.Fields, m.program.paths.keys[path])
	} else if parent := m.inputAt(m.program.paths.parents[path]); parent != absent {
		v = parent.Get(m.program.paths.keys[path])
	}
	if v == nil {
		v = absent
	}
	m.inputs[path] = v
	return v
}

func fieldOf(fields [][2]*ast.Term, key *ast.Term) *ast.Term {
	for _, field := range fields {
		if same(field[0], key) {
			return field[1]
		}
	}
	return nil
}

// readsFieldsOnly says that all that statements do with the input is to look a constant field
// of it up, and to hand it to rules and functions.
func (p *Program) readsFieldsOnly(policy *ir.Policy) bool {
	var blocks []*ir.Block
	if policy.Funcs != nil {
		for _, f := range policy.Funcs.Funcs {
			blocks = append(blocks, f.Blocks...)
		}
	}
	if policy.Plans != nil {
		for _, plan := range policy.Plans.Plans {
			blocks = append(blocks, plan.Blocks...)
		}
	}
	for _, block := range blocks {
		input := usesOf([]*ir.Block{block}).of(ir.Input)
		if input.sets+input.changes+input.reads+input.raw > p.fieldsIn(block) {
			return false
		}
	}
	return true
}

// fieldsIn counts the statements of a block that do no more than that.
func (p *Program) fieldsIn(block *ir.Block) (count int) {
	for _, stmt := range block.Stmts {
		for _, inner := range blocksOf(stmt) {
			count += p.fieldsIn(inner)
		}
		if p.readsField(stmt) {
			count++
		}
	}
	return count
}

func (p *Program) readsField(stmt ir.Stmt) bool {
	switch s := stmt.(type) {
	case *ir.DotStmt:
		_, constant := s.Key.Value.(ir.StringIndex)
		return constant && s.Source.Value == ir.Input
	case *ir.CallStmt:
		_, planned := p.byName[s.Func]
		return planned && s.Args[0].Value == ir.Input
	case *ir.CallDynamicStmt:
		return s.Args[0] == ir.Input
	default:
		return false
	}
}

// blocksOf are the blocks within a statement.
func blocksOf(stmt ir.Stmt) []*ir.Block {
	switch s := stmt.(type) {
	case *ir.BlockStmt:
		return s.Blocks
	case *ir.ScanStmt:
		return []*ir.Block{s.Block}
	case *ir.NotStmt:
		return []*ir.Block{s.Block}
	case *ir.WithStmt:
		return []*ir.Block{s.Block}
	default:
		return nil
	}
}
